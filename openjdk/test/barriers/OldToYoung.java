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
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;

public class OldToYoung {
    public static void main(String[] args) throws Exception {
        for (String mode : List.of("-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "-XX:+TieredCompilation")) {
            run("MMTK_NURSERY", "Fixed:1048576", mode);
            run("MMTK_NURSERY", "Fixed:1048576", mode, "-XX:-UseCompressedOops");
        }
        // Processors before Haswell shift otherwise.
        run("MMTK_NURSERY", "Fixed:1048576", "-XX:-TieredCompilation", "-XX:-UseBMI2Instructions");
        run("MMTK_NURSERY", "Fixed:1048576", "-Xint", "-XX:-UseBMI2Instructions");
        // A collection may come with each allocation that the compiled code leaves to the runtime.
        run("MMTK_STRESS_FACTOR", "100000", "-XX:-TieredCompilation");
    }

    private static void run(String variable, String value, String... options) throws Exception {
        Child child = Child.with(Child.libraryPath(), "-Xmx128m", "-Xlog:gc").and(options).main(Main.class).variable(variable, value).mustExitCleanly(0);
        for (String part : child.parts(Main.BEGIN)) {
            // Without, no barrier is needed.
            Child.mustHaveCollectedPartially(part, Main.ROUNDS / 2);
        }
    }

    public static class Main {
        private static final String BEGIN = "stores by ";
        private static final int ROUNDS = 25;
        private static final int HOLDERS = 600;
        /** Routes whose stores have one collection together: what they allocate fits into the nursery. */
        private static final int TOGETHER = 10;

        public static void main(String[] args) throws Exception {
            List<Routes.Route> apart = Routes.all().stream().filter(route -> !route.shared()).collect(Collectors.toList());
            for (int first = 0; first < apart.size(); first += TOGETHER) {
                run(apart.subList(first, Math.min(first + TOGETHER, apart.size())));
            }
            // Among them are static fields: where one is remembered, so are the others.
            for (Routes.Route route : Routes.all()) {
                if (route.shared()) {
                    run(List.of(route));
                }
            }
        }

        private static void run(List<Routes.Route> routes) throws Exception {
            System.out.println(BEGIN + routes.stream().map(Routes.Route::name).collect(Collectors.joining(", ")));
            Routes.Holder[][] holders = new Routes.Holder[routes.size()][];
            Arrays.setAll(holders, i -> routes.get(i).holders(HOLDERS));
            Heap.collect(1);
            for (int round = 0; round < ROUNDS; round++) {
                run(routes, holders, round);
            }
        }

        private static void run(List<Routes.Route> routes, Routes.Holder[][] holders, int round) throws Exception {
            if (round % 5 == 0) {
                // What a thread remembers counts when it has ended, too.
                FutureTask<Void> stores = new FutureTask<>(() -> storeAll(routes, holders, round));
                Thread thread = new Thread(stores);
                thread.start();
                stores.get();
                thread.join();
            } else {
                storeAll(routes, holders, round);
            }
            long before = Heap.collections();
            for (int i = 0; i < 128 && Heap.collections() == before; i++) {
                Heap.churn(Heap.MIB / 16);
            }
            if (Heap.collections() == before) {
                // The nursery is larger.
                Heap.collect(1);
            }
            for (int i = 0; i < holders.length; i++) {
                check(routes.get(i), holders[i], round);
            }
        }

        private static Void storeAll(List<Routes.Route> routes, Routes.Holder[][] holders, int round) throws Exception {
            for (int route = 0; route < holders.length; route++) {
                for (int i = 0; i < HOLDERS; i++) {
                    routes.get(route).store(holders[route][i % holders[route].length], new int[] {round, i});
                }
            }
            return null;
        }

        private static void check(Routes.Route route, Routes.Holder[] holders, int round) {
            for (int i = HOLDERS - holders.length; i < HOLDERS; i++) {
                int[] found = route.load(holders[i % holders.length]);
                if (found.length != 2 || found[0] != round || found[1] != i) {
                    throw new AssertionError(route.name() + ", round " + round + ", holder " + i + ": found " + Arrays.toString(found));
                }
            }
        }
    }
}
