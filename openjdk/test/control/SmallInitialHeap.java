// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary The VM starts with any small -Xms, and the heap then grows up to -Xmx.
 * @library /lib
 * @run main SmallInitialHeap
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.util.List;

public class SmallInitialHeap {
    public static void main(String[] args) throws Exception {
        for (String initial : List.of("1m", "2m", "3m", "6m", "64m")) {
            for (String sharing : List.of("-Xshare:auto", "-Xshare:off")) {
                Child.with("-Xms" + initial, "-Xmx64m", sharing).main(Main.class).mustExitCleanly(0);
            }
        }
    }

    public static class Main {
        /** Fits in half of the largest heap, which is what a copying collector has for objects. */
        private static final int LIVE_MIB = 15;

        public static void main(String[] args) {
            byte[][] live = new byte[LIVE_MIB * 16][];
            for (int i = 0; i < live.length; i++) {
                live[i] = new byte[Heap.MIB / 16];
                live[i][i] = (byte) i;
            }
            Heap.churn(32 * Heap.MIB);
            for (int i = 0; i < live.length; i++) {
                Check.equal((byte) i, live[i][i], "a byte of a live array");
            }
        }
    }
}
