// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Threads start and end by the hundred while collections run; none loses what it has allocated.
 * @library /lib
 * @run main/othervm -Xmx64m ManyThreads
 */

import heap.Check;
import heap.Heap;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

public class ManyThreads {
    private static final int ROUNDS = 6;
    private static final int THREADS = 100;

    private final AtomicInteger finished = new AtomicInteger();
    private volatile Throwable failure;

    public static void main(String[] args) throws Exception {
        ManyThreads test = new ManyThreads();
        try (Heap.Collector collector = new Heap.Collector()) {
            for (int round = 0; round < ROUNDS; round++) {
                test.startAndEnd(round);
            }
        }
        Check.equal(ROUNDS * THREADS, test.finished.get(), "threads that reached their end");
        Check.that(Heap.collections() > ROUNDS, "collections ran meanwhile");
    }

    private void startAndEnd(int round) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int seed = round * THREADS + i;
            Thread thread = new Thread(() -> work(seed));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure != null) {
            throw new AssertionError("a thread failed", failure);
        }
    }

    private void work(int seed) {
        try {
            List<int[]> kept = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                kept.add(new int[] {seed, i, seed * 31 + i});
                Heap.churn(512);
            }
            for (int i = 0; i < kept.size(); i++) {
                int[] cell = kept.get(i);
                Check.that(cell[0] == seed && cell[1] == i && cell[2] == seed * 31 + i, "cell " + i + " of thread " + seed);
            }
            finished.incrementAndGet();
        } catch (Throwable e) {
            failure = e;
        }
    }
}
