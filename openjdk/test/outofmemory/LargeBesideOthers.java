// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary An array that a full collection leaves no room for ends in OutOfMemoryError soon, also where other threads go on allocating. With the
 * second one there is room for the array, but not for what the heap keeps of its pages beside it.
 * @library /lib
 * @run main/othervm -Xmx64m LargeBesideOthers 4 32 48
 * @run main/othervm -Xmx1g LargeBesideOthers 1 0 1016
 */

import heap.Check;
import heap.Heap;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

public class LargeBesideOthers {
    private static final int REQUESTS = 5;

    /**
     * Collections for each refusal: to fill the heap, to unload classes, to throw soft references away, and those that the other threads ask for
     * meanwhile, which are the more the later the processor comes back to this one. Without an end they are thousands.
     */
    private static final int MAX_COLLECTIONS = 100;

    public static void main(String[] args) throws Exception {
        byte[][] live = new byte[Integer.parseInt(args[1])][Heap.MIB];
        AtomicBoolean done = new AtomicBoolean();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
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
            refuse(Integer.parseInt(args[2]));
        }
        done.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        Check.equal(args[1], Integer.toString(live.length), "MiB that are alive");
    }

    private static void refuse(int mib) {
        long before = Heap.collections();
        try {
            byte[] array = new byte[mib * Heap.MIB];
            throw new AssertionError("there is no room for " + array.length + " bytes");
        } catch (OutOfMemoryError e) {
            Check.equal("Java heap space", e.getMessage(), "the message");
            long collections = Heap.collections() - before;
            Check.that(collections <= MAX_COLLECTIONS, "the array has cost " + collections + " collections");
        }
    }
}
