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
import heap.Workload;
import java.util.ArrayList;
import java.util.List;

public class NoGc {
    private static final long ADDRESS_SPACE_KIB = 4L << 20;
    private static final String PLAN = "-XX:ThirdPartyHeapOptions=plan=NoGC";

    public static void main(String[] args) throws Exception {
        for (String oops : List.of("-XX:+UseCompressedOops", "-XX:-UseCompressedOops")) {
            Check.matches("^done$", Child.with(PLAN, oops, "-Xmx512m").main(Workload.class, "5", "1000").mustExitCleanly(0).out(), "the output");
            Child full = Child.with(PLAN, oops, "-Xmx64m", "-Xlog:gc").main(Full.class, "10000", "3000", "6710").mustExitCleanly(3);
            Check.that(!full.out().contains("Pause"), "no collection:\n" + full.out());
        }
        // Each array has chunks of its own, so that addresses run out when the heap is full to some four fifths.
        Child.with(PLAN, "-Xmx1g").main(Full.class, "2100000", "100", "480").inAddressSpace(ADDRESS_SPACE_KIB).mustExitCleanly(3);
    }

    public static class Full {
        /**
         * Ends with exit code 3 where memory ran out at the right time: nothing else can be said without memory. Arguments: bytes of an array, and
         * how many arrays there are at least and at most.
         */
        public static void main(String[] args) {
            int bytes = Integer.parseInt(args[0]);
            int least = Integer.parseInt(args[1]);
            int most = Integer.parseInt(args[2]);
            System.gc();
            List<byte[]> hog = new ArrayList<>();
            try {
                while (true) {
                    hog.add(new byte[bytes]);
                }
            } catch (OutOfMemoryError e) {
                Runtime.getRuntime().halt(hog.size() < least ? 4 : hog.size() > most ? 5 : 3);
            }
        }
    }
}
