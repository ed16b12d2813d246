// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary An object that is moved to a new one while marking runs, and overwritten where it was, survives: by every way to store a reference,
 * in the interpreter, C1 and C2, with and without compressed oops. So does one that a weak reference has given, by every way to load it.
 * @requires vm.opt.ThirdPartyHeapOptions ~= ".*plan=Concurrent.*"
 * @library /lib
 * @modules jdk.unsupported
 * @run main/othervm/native/timeout=600 Snapshot
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.LatePlaces;
import heap.RawMemory;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.List;
import sun.misc.Unsafe;

public class Snapshot {
    public static void main(String[] args) throws Exception {
        for (String mode : List.of("-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "-XX:+TieredCompilation")) {
            // By default C2 alone would compile nothing: no route is taken often enough.
            run(mode, "-XX:CompileThreshold=200");
            run(mode, "-XX:CompileThreshold=200", "-XX:-UseCompressedOops");
        }
    }

    private static void run(String... options) throws Exception {
        // What a collection has lost is seen at once, and not only when its memory has another object. One worker is busy with the list for
        // all of the initial pause.
        Child child = Child.with(Child.libraryPath(), "-Xms256m", "-Xmx256m", "-XX:ParallelGCThreads=1", "-Xlog:gc,safepoint", "-XX:+UnlockDiagnosticVMOptions", "-XX:+VerifyAfterGC",
                "--add-opens=java.base/java.lang.ref=ALL-UNNAMED").and(options).main(Main.class).mustExitCleanly(0);
        List<String> parts = child.parts(Main.BEGIN);
        checkMarks(Main.STORE_MARKS, parts.get(0));
        checkMarks(Main.LOAD_MARKS, parts.get(1));
    }

    private static void checkMarks(int least, String part) {
        long beside = Child.concurrentMarks(part);
        Check.that(beside >= least, "the program ran in " + beside + " markings alone in:\n" + part);
    }

    /** A list that takes long to mark, node by node. */
    private static final class Node {
        final Node next;

        Node(Node next) {
            this.next = next;
        }
    }

    /** What is new when a value is moved to it: marking does not look at it. */
    private static final class Box {
        final int[] value;

        Box(int[] value) {
            this.value = value;
        }
    }

    /** The compiler does not see that it is a reference. */
    private interface Given {}

    private static final class Weak extends WeakReference<int[]> implements Given {
        Weak(int[] value) {
            super(value);
        }
    }

    private interface Load {
        Object apply(Given reference) throws Exception;
    }

    /** One way to load what a weak reference refers to. */
    private record Way(String name, Load load) {}

    public static class Main {
        private static final String BEGIN = "while marking runs: ";
        /**
         * In how many markings a store without a barrier has the chance to lose an object. Those to static fields have it in the eighth, which
         * looks for classes to unload: else static fields are roots.
         */
        private static final int STORE_MARKS = 10;
        /** The same of a load. */
        private static final int LOAD_MARKS = 3;
        /** Of each route. */
        private static final int HOLDERS = 100;
        private static final int CHURNED = 128 << 10;

        /** An initial pause does not come to the holders, and concurrent marking comes to them late. */
        private static final LatePlaces PLACES = new LatePlaces();
        private static final Object OTHER = new Object();
        private static final int NODES = 600_000;

        public static void main(String[] args) throws Exception {
            // A root that keeps an initial pause from what it would come to through objects.
            Node list = null;
            for (int i = 0; i < NODES; i++) {
                list = new Node(list);
            }
            overwrite(Routes.all());
            Field field = Reference.class.getDeclaredField("referent");
            Unsafe unsafe = RawMemory.unsafe();
            long offset = unsafe.objectFieldOffset(field);
            VarHandle handle = MethodHandles.privateLookupIn(Reference.class, MethodHandles.lookup()).unreflectVarHandle(field);
            load(List.of(new Way("a weak reference", reference -> ((Weak) reference).get()),
                    new Way("a weak reference's field", reference -> unsafe.getObject(reference, offset)),
                    new Way("a weak reference's field by volatile", reference -> unsafe.getObjectVolatile(reference, offset)),
                    new Way("a failed exchange with a weak reference", reference -> handle.compareAndExchange((Reference<?>) reference, OTHER, OTHER))));
            Reference.reachabilityFence(list);
        }

        /** The number of collections when so many markings are over: an initial mark, a final one, and in some plans a full pause. */
        private static long after(int marks) {
            // Half a marking at either end does not count.
            return Heap.collections() + 3 * marks + 4;
        }

        private static void overwrite(List<Routes.Route> routes) throws Exception {
            System.out.println(BEGIN + "stores");
            for (int route = 0; route < routes.size(); route++) {
                begin(routes.get(route), route);
            }
            Box[][] before = {};
            int round = 0;
            for (long enough = after(STORE_MARKS); Heap.collections() < enough; ) {
                round++;
                Box[][] moved = new Box[routes.size()][HOLDERS];
                for (int i = 0; i < HOLDERS; i++) {
                    for (int route = 0; route < routes.size(); route++) {
                        moved[route][i] = move(routes.get(route), route, round, i);
                    }
                    Heap.churn(CHURNED);
                }
                check(routes, before, round - 2);
                before = moved;
            }
            check(routes, before, round - 1);
        }

        private static void begin(Routes.Route route, int place) throws Exception {
            Routes.Holder[] holders = route.holders(HOLDERS);
            for (int i = 0; i < HOLDERS; i++) {
                route.store(holders[i % holders.length], new int[] {0, i});
            }
            PLACES.set(place, holders);
        }

        /** No frame refers to a holder when it returns. */
        private static Box move(Routes.Route route, int place, int round, int i) throws Exception {
            Routes.Holder[] holders = (Routes.Holder[]) PLACES.get(place);
            Routes.Holder holder = holders[i % holders.length];
            Box moved = new Box(route.load(holder));
            route.store(holder, new int[] {round, i});
            return moved;
        }

        private static void check(List<Routes.Route> routes, Box[][] moved, int round) {
            for (int route = 0; route < moved.length; route++) {
                check(routes.get(route), moved[route], round);
            }
        }

        /** What was moved in the round after this one. A shared place had what was stored there last. */
        private static void check(Routes.Route route, Box[] boxes, int round) {
            for (int i = 0; i < boxes.length; i++) {
                if (!route.shared()) {
                    check(route.name(), boxes[i], round, i, false);
                } else if (i == 0) {
                    check(route.name(), boxes[i], round, HOLDERS - 1, false);
                } else {
                    check(route.name(), boxes[i], round + 1, i - 1, false);
                }
            }
        }

        private static void load(List<Way> ways) throws Exception {
            System.out.println(BEGIN + "loads");
            Given[][] references = new Given[ways.size()][HOLDERS];
            int[] kept = new int[ways.size()];
            Box[][] before = {};
            int round = 0;
            for (long enough = after(LOAD_MARKS); Heap.collections() < enough; ) {
                round++;
                Box[][] moved = new Box[ways.size()][HOLDERS];
                for (int i = 0; i < HOLDERS; i++) {
                    for (int way = 0; way < ways.size(); way++) {
                        int[] value = references[way][i] == null ? null : (int[]) ways.get(way).load().apply(references[way][i]);
                        if (value != null) {
                            moved[way][i] = new Box(value);
                            kept[way]++;
                        }
                        references[way][i] = new Weak(new int[] {round, i});
                    }
                    Heap.churn(CHURNED);
                }
                checkLoaded(ways, before, round - 2);
                before = moved;
            }
            checkLoaded(ways, before, round - 1);
            for (int way = 0; way < ways.size(); way++) {
                Check.that(kept[way] > 0, ways.get(way).name() + " was cleared before it was asked");
            }
        }

        private static void checkLoaded(List<Way> ways, Box[][] moved, int round) {
            for (int way = 0; way < moved.length; way++) {
                for (int i = 0; i < HOLDERS; i++) {
                    check(ways.get(way).name(), moved[way][i], round, i, true);
                }
            }
        }

        private static void check(String name, Box box, int round, int i, boolean mayBeCleared) {
            int[] value = box == null ? null : box.value;
            boolean isRight = value == null ? mayBeCleared : value.length == 2 && value[0] == round && value[1] == i;
            if (!isRight) {
                throw new AssertionError(name + ", round " + round + ", holder " + i + ": found " + Arrays.toString(value));
            }
        }
    }
}
