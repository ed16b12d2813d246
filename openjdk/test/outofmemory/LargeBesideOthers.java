// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary An array that a full collection leaves no room for ends in OutOfMemoryError soon, also where other threads go on allocating.
 * @library /lib
 * @run main/othervm -Xmx64m LargeBesideOthers
 */

import heap.Check;
import heap.Heap;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

public class LargeBesideOthers {
    private static final int THREADS = 4;
    private static final int REQUESTS = 5;

    /** Collections for each refusal: to fill the heap, to throw soft references away, and those that the other threads ask for meanwhile. */
    private static final int MAX_COLLECTIONS = 20;

    public static void main(String[] args) throws Exception {
        byte[][] half = new byte[32][Heap.MIB];
        AtomicBoolean done = new AtomicBoolean();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Thread thread = new Thread(() -> {
                while (!done.get()) {
                    Heap.churn(Heap.MIB);
                }
            });
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        for (int i = 0; i < REQUESTS; i++) {
            refuse();
        }
        done.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        Check.equal(32, half.length, "rows of the array that fills half of the heap");
    }

    private static void refuse() {
        long before = Heap.collections();
        try {
            byte[] array = new byte[48 * Heap.MIB];
            throw new AssertionError("there is no room for " + array.length + " bytes");
        } catch (OutOfMemoryError e) {
            Check.equal("Java heap space", e.getMessage(), "the message");
            long collections = Heap.collections() - before;
            Check.that(collections <= MAX_COLLECTIONS, "the array has cost " + collections + " collections");
        }
    }
}
