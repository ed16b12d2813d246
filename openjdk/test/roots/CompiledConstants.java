// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Objects that compiled code names as constants stay alive and follow moves: C1, C2, and all code compiled at first call.
 * @library /lib
 * @run main/othervm -Xmx64m CompiledConstants
 * @run main/othervm -Xmx64m -XX:-TieredCompilation -Xbatch CompiledConstants
 * @run main/othervm -Xmx64m -XX:TieredStopAtLevel=1 -Xbatch CompiledConstants
 * @run main/othervm -Xmx64m -Xcomp CompiledConstants
 */

import heap.Check;
import heap.Heap;

public class CompiledConstants {
    private static final Object ALONE = new Object();
    private static final int[] ARRAY = {1, 2, 3};
    private static final String TEXT = new StringBuilder("con").append("stant").toString();
    private static final Class<?> CLASS = CompiledConstants.class;
    private static final Counter COUNTER = new Counter();

    /** The same objects where compiled code reads them from memory. */
    private static final Object[] REGISTRY = {ALONE, ARRAY, TEXT, CLASS, COUNTER};

    private static final class Counter {
        int count;
    }

    public static void main(String[] args) {
        int expected = 0;
        for (int round = 0; round < 40; round++) {
            for (int i = 0; i < 1000; i++) {
                Check.equal(6 + 8, use(REGISTRY), "what compiled code sees of its constants");
                expected++;
            }
            Heap.collect(1);
            Heap.churn(Heap.MIB);
        }
        Check.equal(expected, ((Counter) REGISTRY[4]).count, "what compiled code has written into a constant");
    }

    private static int use(Object[] registry) {
        Check.that(registry[0] == ALONE && registry[1] == ARRAY && registry[2] == TEXT && registry[3] == CLASS
                && registry[4] == COUNTER, "a constant of compiled code is another object than it was");
        COUNTER.count++;
        synchronized (ALONE) {
            return ARRAY[0] + ARRAY[1] + ARRAY[2] + TEXT.length();
        }
    }
}
