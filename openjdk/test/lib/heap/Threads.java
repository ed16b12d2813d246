// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

import java.util.ArrayList;
import java.util.List;

/** Threads that do the same at the same time. */
public final class Threads {
    private Threads() {}

    /** What one of them does. */
    public interface Body {
        /** {@code number} counts the threads from 0. */
        void run(int number) throws Exception;
    }

    /**
     * Runs {@code body} in {@code count} threads and waits for their end. Where one of them fails, the others are interrupted, as they may wait
     * for it, and an {@link AssertionError} is thrown.
     */
    public static void run(int count, Body body) throws InterruptedException {
        List<Throwable> failures = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int number = i;
            Thread thread = new Thread(() -> {
                try {
                    body.run(number);
                } catch (Throwable e) {
                    synchronized (threads) {
                        failures.add(e);
                        threads.forEach(Thread::interrupt);
                    }
                }
            });
            synchronized (threads) {
                threads.add(thread);
            }
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (!failures.isEmpty()) {
            throw new AssertionError("a thread failed", failures.get(0));
        }
    }
}
