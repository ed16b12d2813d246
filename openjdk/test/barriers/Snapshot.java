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
    /** In how many markings a store without a barrier has the chance to lose an object. */
    private static final int LEAST_MARKS = 10;

    public static void main(String[] args) throws Exception {
        for (String mode : List.of("-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "-XX:+TieredCompilation")) {
            // By default C2 alone would compile nothing: no route is taken often enough.
            run(mode, "-XX:CompileThreshold=200");
            run(mode, "-XX:CompileThreshold=200", "-XX:-UseCompressedOops");
        }
    }

    private static void run(String... options) throws Exception {
        // What a collection has lost is seen at once, and not only when its memory has another object.
        Child child = Child.with(Child.libraryPath(), "-Xms128m", "-Xmx128m", "-Xlog:gc,safepoint", "-XX:+UnlockDiagnosticVMOptions", "-XX:+VerifyAfterGC",
                "--add-opens=java.base/java.lang.ref=ALL-UNNAMED").and(options).main(Main.class);
        long beside = child.mustExitCleanly(0).marksBeside();
        Check.that(beside >= LEAST_MARKS, "the program ran in " + beside + " markings alone");
    }

    /** What is new when a value is moved to it: marking does not look at it. */
    private static final class Box {
        final int[] value;

        Box(int[] value) {
            this.value = value;
        }
    }

    /** A list that takes long to mark, as one worker does it node by node. */
    private static final class Node {
        final Node next;

        Node(Node next) {
            this.next = next;
        }
    }

    /** The compiler does not see that it is a reference. */
    private interface Given {}

    private static final class Weak extends WeakReference<int[]> implements Given {
        Weak(int[] value) {
            super(value);
        }
    }

    /** Loads what a weak reference refers to. */
    private interface Way {
        Object load(Given reference) throws Exception;
    }

    public static class Main {
        private static final int NODES = 1_000_000;
        private static final int HOLDERS = 2_000;
        private static final int ROUNDS = 4;

        private static Node list;

        public static void main(String[] args) throws Exception {
            for (int i = 0; i < NODES; i++) {
                list = new Node(list);
            }
            for (Routes.Route route : Routes.all()) {
                overwrite(route);
            }
            Field field = Reference.class.getDeclaredField("referent");
            Unsafe unsafe = RawMemory.unsafe();
            long offset = unsafe.objectFieldOffset(field);
            VarHandle handle = MethodHandles.privateLookupIn(Reference.class, MethodHandles.lookup()).unreflectVarHandle(field);
            loadFrom("a weak reference", reference -> ((Weak) reference).get());
            loadFrom("a weak reference's field", reference -> unsafe.getObject(reference, offset));
            loadFrom("a weak reference's field by volatile", reference -> unsafe.getObjectVolatile(reference, offset));
            loadFrom("a failed exchange with a weak reference", reference -> handle.compareAndExchange((Reference<?>) reference, list, list));
            Reference.reachabilityFence(list);
        }

        private static void overwrite(Routes.Route route) throws Exception {
            Routes.Holder[] holders = new Routes.Holder[route.shared() ? 1 : HOLDERS];
            Arrays.setAll(holders, i -> new Routes.Holder());
            for (int i = 0; i < HOLDERS; i++) {
                route.store(holders[i % holders.length], new int[] {0, i});
            }
            Box[] before = {};
            for (int round = 1; round <= ROUNDS; round++) {
                Box[] moved = new Box[HOLDERS];
                for (int i = 0; i < HOLDERS; i++) {
                    Routes.Holder holder = holders[i % holders.length];
                    moved[i] = new Box(route.load(holder));
                    route.store(holder, new int[] {round, i});
                    if (i % 20 == 0) {
                        Heap.churn(128 * 1024);
                    }
                }
                check(route, before, round - 2);
                before = moved;
            }
            check(route, before, ROUNDS - 1);
        }

        /** What was moved in the round after this one. A shared place had what was stored there last. */
        private static void check(Routes.Route route, Box[] boxes, int round) {
            for (int i = 0; i < boxes.length; i++) {
                if (!route.shared()) {
                    check(route.name(), boxes[i], new int[] {round, i}, false);
                } else {
                    check(route.name(), boxes[i], i == 0 ? new int[] {round, HOLDERS - 1} : new int[] {round + 1, i - 1}, false);
                }
            }
        }

        private static void loadFrom(String name, Way way) throws Exception {
            Given[] references = new Given[HOLDERS];
            int kept = 0;
            Box[] before = {};
            for (int round = 0; round < 20; round++) {
                Box[] moved = new Box[HOLDERS];
                for (int i = 0; i < HOLDERS; i++) {
                    int[] value = references[i] == null ? null : (int[]) way.load(references[i]);
                    if (value != null && value[0] == round - 1) {
                        moved[i] = new Box(value);
                        kept++;
                    }
                    references[i] = new Weak(new int[] {round, i});
                    if (i % 20 == 0) {
                        Heap.churn(128 * 1024);
                    }
                }
                for (int i = 0; i < before.length; i++) {
                    check(name, before[i], new int[] {round - 2, i}, true);
                }
                before = moved;
            }
            Check.that(kept > 0, name + " was cleared before it was asked");
        }

        private static void check(String name, Box box, int[] expected, boolean mayBeCleared) {
            int[] value = box == null ? null : box.value;
            Check.that(value == null && mayBeCleared || Arrays.equals(value, expected),
                    name + ", round and holder " + Arrays.toString(expected) + ": found " + Arrays.toString(value));
        }
    }
}
