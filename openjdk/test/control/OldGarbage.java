// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A heap that may grow does not grow by old garbage: objects become old, and die, in equal measure.
 * @library /lib
 * @run main/othervm -Xms16m -Xmx2g OldGarbage
 */

import heap.Check;
import heap.Heap;

public class OldGarbage {
    private static final int OBJECTS = 40_000;
    private static final int OBJECT_BYTES = 500;
    private static final int ROUNDS = 100;
    /** Thirty times what is alive. */
    private static final int MAX_MIB = 600;

    static volatile Object sink;

    public static void main(String[] args) {
        Object[] ring = new Object[OBJECTS];
        long largest = 0;
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < OBJECTS; i++) {
                ring[i] = new byte[OBJECT_BYTES];
                for (int young = 0; young < 4; young++) {
                    sink = new byte[OBJECT_BYTES];
                }
            }
            largest = Math.max(largest, Runtime.getRuntime().totalMemory());
        }
        Check.equal(OBJECTS, ring.length, "objects alive at a time");
        System.out.println("the largest heap: " + largest / Heap.MIB + " MiB");
        Check.that(largest <= (long) MAX_MIB * Heap.MIB, "the heap has grown to " + largest / Heap.MIB + " MiB");
    }
}
