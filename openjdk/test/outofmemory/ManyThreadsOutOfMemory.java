// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Many threads run out of memory at once, each catches its own error, and all go on to the end.
 * @library /lib
 * @run main/othervm -Xmx48m ManyThreadsOutOfMemory
 */

import heap.Check;
import heap.Heap;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

public class ManyThreadsOutOfMemory {
    private static final int THREADS = 12;
    private static final int TIMES = 3;

    private static final AtomicInteger ERRORS = new AtomicInteger();
    private static final AtomicInteger FINISHED = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int size = 16 << i % 8;
            threads.add(new Thread(() -> run(size)));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        Check.equal(THREADS, FINISHED.get(), "threads that reached their end");
        Check.that(ERRORS.get() >= THREADS * TIMES, "each has seen its errors: " + ERRORS);
        Check.equal(8 * Heap.MIB, new byte[8 * Heap.MIB].length, "a large array afterwards");
    }

    /** An error may come anywhere, also in the handling of the one before: hence the loop around it. */
    private static void run(int size) {
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

    private static void fill(int size) {
        Object[] last = null;
        while (true) {
            last = new Object[] {last, new byte[size]};
        }
    }
}
