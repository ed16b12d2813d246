// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Where address space is scarce, memory does not run out while next to nothing lives: addresses of dead objects serve objects of any size, and
 * soft references stay.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main/timeout=300 FewAddresses
 */

import heap.Child;
import heap.Heap;
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.List;

public class FewAddresses {
    /** The heap has then addresses for one and a half times its size. */
    static final long ADDRESS_SPACE_KIB = 4 << 20;
    /** One alone lies in 4 MiB, and so they fill the most addresses. */
    static final int LONELY = 2 * Heap.MIB + 200_000;
    private static final int[] SIZES = {Heap.MIB, LONELY, 5 * Heap.MIB, 17 * Heap.MIB};

    public static void main(String[] args) throws Exception {
        for (int size : SIZES) {
            Child.with("-Xmx1g").main(Main.class, Integer.toString(size)).inAddressSpace(ADDRESS_SPACE_KIB).mustExitCleanly(0);
        }
    }

    /** Has few objects live for a while, far apart, and needs room for large ones when they have died. */
    public static class Main {
        private static final long MAX = Runtime.getRuntime().maxMemory();
        /** What lives next lies so far away. */
        private static final int APART = 32 * Heap.MIB;

        static volatile Object sink;

        public static void main(String[] args) throws Exception {
            SoftReference<Object> soft = new SoftReference<>(new Object());
            List<byte[]> few = fill(Integer.parseInt(args[0]));
            // What is dead goes back to the system while the program sleeps, and its addresses in the collection after that.
            Heap.collect(2);
            Thread.sleep(1000);
            Heap.collect(1);
            few.clear();
            allocate(MAX / 3);
            allocate(MAX / 5 * 3);
            if (soft.get() == null) {
                throw new AssertionError("a soft reference is cleared only before an OutOfMemoryError");
            }
        }

        /** Allocates arrays of {@code size} bytes, 70 % of the heap, and returns a few of them. */
        static List<byte[]> fill(int size) {
            List<byte[]> all = new ArrayList<>();
            List<byte[]> few = new ArrayList<>();
            for (long bytes = 0; bytes < MAX / 10 * 7; bytes += size) {
                all.add(new byte[size]);
                if (bytes % APART < size) {
                    few.add(all.get(all.size() - 1));
                }
            }
            return few;
        }

        private static void allocate(long bytes) {
            System.out.println(bytes + " bytes beside nothing");
            sink = new byte[(int) bytes];
            sink = null;
        }
    }
}
