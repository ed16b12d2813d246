// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A collection every few thousand bytes (MMTk's stress_factor) while a program checks all its data: compiled, interpreted, with wide oops.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/othervm/timeout=400 StressCollections
 */

import heap.Check;
import heap.Child;
import heap.Workload;

public class StressCollections {
    public static void main(String[] args) throws Exception {
        stress(100_000, "-Xmx64m");
        stress(100_000, "-Xmx64m", "-XX:-UseCompressedOops");
        stress(100_000, "-Xmx64m", "-Xint");
        stress(100_000, "-Xmx64m", "-XX:-TieredCompilation");
        stress(30_000, "-Xmx64m", "-XX:ParallelGCThreads=4");
        stress(1_000_000, "-Xms32m", "-Xmx6g");
    }

    private static void stress(int bytes, String... options) throws Exception {
        Child child = Child.with(options).and("-Xlog:gc").variable("MMTK_STRESS_FACTOR", Integer.toString(bytes))
                .main(Workload.class, "20", "300").mustExitCleanly(0);
        Check.matches("^done$", child.out(), "the output");
        long collections = child.out().lines().filter(line -> line.contains(" Pause ")).count();
        // The program allocates some 15 MB; mmtk counts a part of that, as threads that wait for one collection share it.
        Check.that(collections >= 2_000_000 / bytes, "collections, at one for " + bytes + " bytes: " + collections);
    }
}
