// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Young objects that only old ones refer to survive, and are found where they have moved: by every way to store a reference, in the
 * interpreter, C1 and C2, with and without compressed oops, with a small nursery.
 * @requires vm.opt.ThirdPartyHeapOptions ~= ".*plan=(Sticky|Gen).*"
 * @library /lib
 * @modules jdk.unsupported
 * @run main/othervm/native/timeout=400 OldToYoung
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.util.List;
import java.util.concurrent.FutureTask;

public class OldToYoung {
    public static void main(String[] args) throws Exception {
        for (String mode : List.of("-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "-XX:+TieredCompilation")) {
            run("MMTK_NURSERY", "Fixed:1048576", mode);
            run("MMTK_NURSERY", "Fixed:1048576", mode, "-XX:-UseCompressedOops");
        }
        // A collection may come with each allocation that the compiled code leaves to the runtime.
        run("MMTK_STRESS_FACTOR", "100000", "-XX:-TieredCompilation");
    }

    private static void run(String variable, String value, String... options) throws Exception {
        Child child = Child.with(Child.libraryPath(), "-Xmx128m", "-Xlog:gc").and(options).main(Main.class).variable(variable, value);
        // Without, no barrier is needed.
        child.mustExitCleanly(0).mustHaveCollectedPartially(Main.ROUNDS);
    }

    public static class Main {
        private static final int ROUNDS = 25;
        private static final int HOLDERS = 600;

        public static void main(String[] args) throws Exception {
            for (Routes.Route route : Routes.all()) {
                Routes.Holder[] holders = new Routes.Holder[route.shared() ? 1 : HOLDERS];
                for (int i = 0; i < holders.length; i++) {
                    holders[i] = new Routes.Holder();
                }
                Heap.collect(1);
                for (int round = 0; round < ROUNDS; round++) {
                    run(route, holders, round);
                }
            }
        }

        private static Void storeAll(Routes.Route route, Routes.Holder[] holders, int round) throws Exception {
            for (int i = 0; i < HOLDERS; i++) {
                route.store(holders[i % holders.length], new int[] {round, i});
            }
            return null;
        }

        private static void run(Routes.Route route, Routes.Holder[] holders, int round) throws Exception {
            if (round % 5 == 0) {
                // What a thread remembers counts when it has ended, too.
                FutureTask<Void> stores = new FutureTask<>(() -> storeAll(route, holders, round));
                Thread thread = new Thread(stores);
                thread.start();
                stores.get();
                thread.join();
            } else {
                storeAll(route, holders, round);
            }
            long before = Heap.collections();
            for (int i = 0; i < 128 && Heap.collections() == before; i++) {
                Heap.churn(Heap.MIB / 16);
            }
            if (Heap.collections() == before) {
                // The nursery is larger.
                Heap.collect(1);
            }
            for (int i = HOLDERS - holders.length; i < HOLDERS; i++) {
                int[] found = route.load(holders[i % holders.length]);
                Check.that(found.length == 2 && found[0] == round && found[1] == i,
                        route.name() + ", round " + round + ", holder " + i + ": found " + java.util.Arrays.toString(found));
            }
        }
    }
}
