// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary System.gc() has cleared the references to old objects that have died when it returns, also where a collection that other threads
 * have caused begins at the same moment.
 * @library /lib
 * @run main/timeout=400 CollectedBesideOthers
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.Threads;
import java.lang.ref.WeakReference;

public class CollectedBesideOthers {
    public static void main(String[] args) throws Exception {
        // Where there are partial collections, they come often.
        Child child = Child.with("-Xmx64m", "-Xlog:gc").main(Main.class).variable("MMTK_NURSERY", "Fixed:1048576");
        child.mustExitCleanly(0).mustHaveCollectedPartially(1);
    }

    public static class Main {
        private static final int ROUNDS = 300;
        private static volatile boolean done;
        private static Object[] old = new Object[1];

        public static void main(String[] args) throws Exception {
            Threads.run(4, number -> {
                if (number == 0) {
                    try {
                        for (int round = 0; round < ROUNDS; round++) {
                            round(round);
                        }
                    } finally {
                        done = true;
                    }
                }
                while (!done) {
                    Heap.churn(Heap.MIB);
                }
            });
        }

        private static void round(int round) {
            WeakReference<Object> weak = grownOld();
            old[0] = null;
            System.gc();
            Check.that(weak.get() == null, "round " + round + ": a full collection clears a reference to an old object");
        }

        private static WeakReference<Object> grownOld() {
            old[0] = new byte[100];
            WeakReference<Object> weak = new WeakReference<>(old[0]);
            long next = Heap.collections() + Heap.pausesOfCollection();
            while (Heap.collections() < next) {
                Heap.churn(Heap.MIB / 4);
            }
            return weak;
        }
    }
}
