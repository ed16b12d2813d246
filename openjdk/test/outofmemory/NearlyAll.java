// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary An array that takes nearly all of the heap, and fits, costs a few collections, and no soft reference.
 * @library /lib
 * @run main/othervm -Xms64m -Xmx64m NearlyAll
 */

import heap.Check;
import heap.Heap;
import java.lang.ref.SoftReference;

public class NearlyAll {
    private static final int ROUNDS = 10;
    private static final int LEAST_MIB = 50;

    /** Collections for each array: to find that the heap is full, and two more in plans that mark concurrently. */
    private static final int MAX_COLLECTIONS = 6;

    static volatile Object sink;

    public static void main(String[] args) {
        SoftReference<Object> soft = new SoftReference<>(new Object());
        for (int i = 0; i < ROUNDS; i++) {
            long before = Heap.collections();
            sink = new byte[(LEAST_MIB + i % 8) * Heap.MIB];
            sink = null;
            long collections = Heap.collections() - before;
            Check.that(collections <= MAX_COLLECTIONS, "the array has cost " + collections + " collections");
            Check.that(soft.get() != null, "the soft reference stays");
        }
    }
}
