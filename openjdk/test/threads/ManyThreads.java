// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Threads start and end by the hundred while collections run; none loses what it has allocated.
 * @library /lib
 * @run main/othervm -Xmx64m ManyThreads
 */

import heap.Check;
import heap.Heap;
import heap.Threads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

public class ManyThreads {
    private static final int ROUNDS = 6;
    private static final int THREADS = 100;

    private final AtomicInteger finished = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        ManyThreads test = new ManyThreads();
        try (Heap.Collector collector = new Heap.Collector()) {
            for (int round = 0; round < ROUNDS; round++) {
                int first = round * THREADS;
                Threads.run(THREADS, number -> test.work(first + number));
            }
        }
        Check.equal(ROUNDS * THREADS, test.finished.get(), "threads that reached their end");
        Check.that(Heap.collections() > ROUNDS, "collections ran meanwhile");
    }

    private void work(int seed) {
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
    }
}
