// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary What thread-locals and deep stacks hold survives and follows moves, in interpreted and compiled frames.
 * @library /lib
 * @run main/othervm -Xmx64m ThreadLocalsAndStacks
 * @run main/othervm -Xmx64m -Xint ThreadLocalsAndStacks
 * @run main/othervm -Xmx64m -Xcomp ThreadLocalsAndStacks
 */

import heap.Check;
import heap.Heap;
import heap.Threads;
import java.util.concurrent.CyclicBarrier;

public class ThreadLocalsAndStacks {
    private static final int THREADS = 20;
    private static final int DEPTH = 1500;
    private static final ThreadLocal<int[]> LOCAL = new ThreadLocal<>();

    public static void main(String[] args) throws Exception {
        CyclicBarrier allDeep = new CyclicBarrier(THREADS, () -> Heap.collect(4));
        Threads.run(THREADS, number -> run(number, allDeep));
    }

    private static void run(int number, CyclicBarrier allDeep) throws Exception {
        LOCAL.set(new int[] {number});
        descend(DEPTH, new int[] {number}, allDeep);
        Check.equal(number, LOCAL.get()[0], "a thread-local");
    }

    /** Returns the sum of what the frames below hold. Each frame holds objects of its own over the collections. */
    private static long descend(int depth, int[] above, CyclicBarrier allDeep) throws Exception {
        if (depth == 0) {
            allDeep.await();
            return above[0];
        }
        int[] mine = {above[0] + 1};
        String text = "frame " + depth;
        long below = descend(depth - 1, mine, allDeep);
        Check.equal(above[0] + 1, mine[0], "an array that frame " + depth + " holds");
        Check.equal("frame " + depth, text, "a string that a frame holds");
        return below;
    }
}
