// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Many threads run out of memory at once, each catches its own error, and all go on to the end.
 * @library /lib
 * @run main/othervm -Xmx48m ManyThreadsOutOfMemory
 */

import heap.Check;
import heap.Heap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

public class ManyThreadsOutOfMemory {
    private static final int THREADS = 12;
    private static final int TIMES = 3;

    private static final CountDownLatch ALL_STARTED = new CountDownLatch(1);
    private static final AtomicInteger ERRORS = new AtomicInteger();
    private static final AtomicInteger FINISHED = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int size = 16 << i % 8;
            threads[i] = new Thread(() -> run(size));
            threads[i].start();
        }
        // From here on this thread allocates nothing: the error may come to any thread that does.
        ALL_STARTED.countDown();
        for (int i = 0; i < THREADS; i++) {
            threads[i].join();
        }
        Check.equal(THREADS, FINISHED.get(), "threads that reached their end");
        Check.that(ERRORS.get() >= THREADS * TIMES, "each has seen its errors: " + ERRORS);
        Check.equal(8 * Heap.MIB, new byte[8 * Heap.MIB].length, "a large array afterwards");
    }

    /** An error may come anywhere, also in the handling of the one before: hence the loop around it. */
    private static void run(int size) {
        awaitStart();
        int errors = 0;
        while (errors < TIMES) {
            try {
                fill(size);
            } catch (OutOfMemoryError e) {
                errors++;
                ERRORS.incrementAndGet();
            }
        }
        FINISHED.incrementAndGet();
    }

    private static void awaitStart() {
        try {
            ALL_STARTED.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void fill(int size) {
        Object[] last = null;
        while (true) {
            last = new Object[] {last, new byte[size]};
        }
    }
}
