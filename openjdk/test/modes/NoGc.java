// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Plan NoGC runs a program until its heap is full, then throws OutOfMemoryError, and never collects.
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
    private static final String PLAN = "-XX:ThirdPartyHeapOptions=plan=NoGC";

    public static void main(String[] args) throws Exception {
        for (String oops : List.of("-XX:+UseCompressedOops", "-XX:-UseCompressedOops")) {
            Check.matches("^done$", Child.with(PLAN, oops, "-Xmx512m").main(Workload.class, "5", "1000").mustExitCleanly(0).out(), "the output");
            Child.with(PLAN, oops, "-Xmx64m").main(Full.class).mustExitCleanly(0);
        }
    }

    public static class Full {
        public static void main(String[] args) {
            System.gc();
            List<byte[]> hog = new ArrayList<>();
            int allocated = 0;
            try {
                while (true) {
                    hog.add(new byte[10_000]);
                    allocated++;
                }
            } catch (OutOfMemoryError e) {
                Check.that(allocated > 3000, "arrays of 10 kB in a heap of 64 MiB: " + allocated);
            }
            Check.equal(0L, Heap.collections(), "collections");
        }
    }
}
