// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Where no addresses are left for a large object, memory runs out, also of a heap that may still grow: collections do not follow each other for ever.
 * @requires vm.opt.ThirdPartyHeapPlugin == "stock"
 * @library /lib
 * @run main NoAddresses
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.util.ArrayList;
import java.util.List;

public class NoAddresses {
    /** The heap has then addresses for one and a half times its size. */
    private static final long ADDRESS_SPACE_KIB = 4 << 20;

    public static void main(String[] args) throws Exception {
        Child child = Child.with("-Xms64m", "-Xmx1g", "-Xlog:gc").main(Main.class).inAddressSpace(ADDRESS_SPACE_KIB).mustExitCleanly(0);
        Check.that(child.count("Pause") < 100, child.count("Pause") + " collections");
    }

    /** Has few objects live, far apart, and needs room for a large one. */
    public static class Main {
        private static final long MAX = Runtime.getRuntime().maxMemory();
        /** One alone lies in 4 MiB, and so they fill the most addresses. */
        private static final int SIZE = 2 * Heap.MIB + 200_000;
        /** What lives next lies so far away. */
        private static final int APART = 32 * Heap.MIB;

        static volatile Object sink;

        public static void main(String[] args) {
            List<byte[]> few = fill();
            try {
                sink = new byte[340 * Heap.MIB];
                throw new AssertionError("there were addresses beside " + few.size() + " arrays");
            } catch (OutOfMemoryError e) {
                System.out.println(e);
            }
            sink = new byte[SIZE];
        }

        /** Allocates arrays, 70 % of the heap, and returns a few of them. */
        private static List<byte[]> fill() {
            List<byte[]> all = new ArrayList<>();
            List<byte[]> few = new ArrayList<>();
            for (long bytes = 0; bytes < MAX / 10 * 7; bytes += SIZE) {
                all.add(new byte[SIZE]);
                if (bytes % APART < SIZE) {
                    few.add(all.get(all.size() - 1));
                }
            }
            return few;
        }
    }
}
