// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Plan NoGC runs a program until its heap is full, or until no addresses are left, then throws OutOfMemoryError, and never collects.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main NoGc
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.Workload;
import java.util.ArrayList;
import java.util.List;

public class NoGc {
    private static final long ADDRESS_SPACE_KIB = 4L << 20;
    private static final String PLAN = "-XX:ThirdPartyHeapOptions=plan=NoGC";

    public static void main(String[] args) throws Exception {
        for (String oops : List.of("-XX:+UseCompressedOops", "-XX:-UseCompressedOops")) {
            Check.matches("^done$", Child.with(PLAN, oops, "-Xmx512m").main(Workload.class, "5", "1000").mustExitCleanly(0).out(), "the output");
            Child full = Child.with(PLAN, oops, "-Xmx64m", "-Xlog:gc").main(Full.class).mustExitCleanly(3);
            Check.that(!full.out().contains("Pause"), "no collection:\n" + full.out());
        }
        Child.with(PLAN, "-Xmx1g").main(Large.class).inAddressSpace(ADDRESS_SPACE_KIB).mustExitCleanly(0);
    }

    /** Its arrays take nearly twice as many addresses as they have bytes: each has chunks of its own. */
    public static class Large {
        private static final int BYTES = 2_100_000;

        public static void main(String[] args) {
            List<byte[]> hog = new ArrayList<>();
            try {
                while (true) {
                    hog.add(new byte[BYTES]);
                }
            } catch (OutOfMemoryError e) {
                int arrays = hog.size();
                hog = null;
                Check.that(arrays > 100 && arrays < (1L << 30) / BYTES - 20, "the addresses are used up before the heap is full: " + arrays + " arrays");
            }
        }
    }

    public static class Full {
        /** Ends with exit code 3 where the heap was full at the right time: nothing else can be said without memory. */
        public static void main(String[] args) {
            System.gc();
            List<byte[]> hog = new ArrayList<>();
            try {
                while (true) {
                    hog.add(new byte[10_000]);
                }
            } catch (OutOfMemoryError e) {
                boolean early = hog.size() < 3000;
                boolean late = hog.size() > 64 * Heap.MIB / 10_000;
                Runtime.getRuntime().halt(early ? 4 : late ? 5 : 3);
            }
        }
    }
}
