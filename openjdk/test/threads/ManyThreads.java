// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Threads start and end by the hundred while collections run, or thousands are there at once; none loses what it has allocated.
 * @library /lib
 * @run main/othervm -Xmx64m ManyThreads 100 6
 * @run main/othervm -Xmx256m -Xss256k ManyThreads 2000 1
 */

import heap.Check;
import heap.Heap;
import heap.Threads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;

public class ManyThreads {
    private static final int CELLS = 200;

    private final AtomicInteger finished = new AtomicInteger();
    private final CyclicBarrier allFilled;

    private ManyThreads(int threads) {
        allFilled = new CyclicBarrier(threads);
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        int rounds = Integer.parseInt(args[1]);
        ManyThreads test = new ManyThreads(threads);
        try (Heap.Collector collector = new Heap.Collector()) {
            for (int round = 0; round < rounds; round++) {
                int first = round * threads;
                Threads.run(threads, number -> test.work(first + number));
            }
        }
        Check.equal(rounds * threads, test.finished.get(), "threads that reached their end");
        Check.that(Heap.collections() > rounds, "collections ran meanwhile");
    }

    private void work(int seed) throws Exception {
        List<int[]> kept = new ArrayList<>();
        for (int i = 0; i < CELLS; i++) {
            kept.add(new int[] {seed, i, seed * 31 + i});
            Heap.churn(512);
        }
        allFilled.await();
        for (int i = 0; i < kept.size(); i++) {
            int[] cell = kept.get(i);
            Check.that(cell[0] == seed && cell[1] == i && cell[2] == seed * 31 + i, "cell " + i + " of thread " + seed);
        }
        finished.incrementAndGet();
    }
}
