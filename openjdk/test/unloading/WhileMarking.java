// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary While concurrent marking runs, what reaches a class changes. A class stays as long as it is reached, and a final mark unloads it
 *          after that: no full pause is needed. With -XX:-ClassUnloadingWithConcurrentMark, none of them does.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/timeout=480 WhileMarking
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.LatePlaces;
import heap.Loaders;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.util.function.IntSupplier;

public class WhileMarking {
    /** Classes, of several collections. */
    private static final int ENOUGH = 10_000;
    private static final int ROUNDS_WITHOUT = 20_000;

    public static void main(String[] args) throws Exception {
        String plan = Child.concurrentPlan();
        for (String compiler : new String[] {"-XX:TieredStopAtLevel=1", "-XX:+TieredCompilation", "-Xint"}) {
            Child on = child(plan, compiler, "-XX:+ClassUnloadingWithConcurrentMark");
            Check.that(on.concurrentMarks() > 0, "concurrent marking ran");
            // The crate's plan does not wait for a final mark where the heap is full before.
            Check.that(!Child.hasOwnPolicy() || !on.out().contains("Pause Full"), "no full pause with " + compiler + ":\n" + on.out());
        }
        Child off = child(plan, "-XX:+TieredCompilation", "-XX:-ClassUnloadingWithConcurrentMark");
        Check.that(off.concurrentMarks() > 0, "concurrent marking ran");
        boolean unloaded = false;
        for (String line : (Iterable<String>) off.out().lines()::iterator) {
            unloaded |= line.contains("unloading class");
            // A pause is logged at its end.
            if (line.contains("Pause ")) {
                Check.that(!unloaded || line.contains("Pause Full"), "unloaded in another than a full pause: " + line);
                unloaded = false;
            }
        }
    }

    private static Child child(String plan, String compiler, String unloading) throws Exception {
        return Child.with("-Xms256m", "-Xmx256m", "-XX:MetaspaceSize=512m", "-XX:ThirdPartyHeapOptions=plan=" + plan, compiler, unloading,
                "-Xlog:gc,safepoint,class+unload").main(Main.class, unloading).mustExitCleanly(0);
    }

    /** Moves what reaches classes from place to place. */
    public static class Main {
        static volatile Object sink;
        private static final LatePlaces HELD = new LatePlaces();
        private static final WeakReference<?>[] WEAK = new WeakReference<?>[LatePlaces.COUNT];

        public static void main(String[] args) throws Exception {
            boolean unloads = args[0].contains("+");
            ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
            for (int i = 0; unloads ? classes.getUnloadedClassCount() < ENOUGH : i < ROUNDS_WITHOUT; i++) {
                int place = i % LatePlaces.COUNT;
                Object strong = HELD.get(place);
                Object held = strong == null && WEAK[place] != null ? WEAK[place].get() : strong;
                if (held != null) {
                    Check.equal(Reachable.SECRET, secret(held), "what " + held.getClass() + " leads to");
                }
                if (i / LatePlaces.COUNT % 4 == 0) {
                    HELD.set(place, made(i));
                } else if (strong != null) {
                    // For a while it is held weakly.
                    WEAK[place] = new WeakReference<>(held);
                    HELD.set(place, null);
                } else {
                    HELD.set(place, held);
                    WEAK[place] = null;
                }
                sink = new byte[Heap.MIB / 4];
            }
        }

        private static Object made(int kind) throws Exception {
            Class<?> kept = new Loaders.Loader(Reachable.Kept.class).load(Reachable.Kept.class);
            switch (kind % 7) {
                case 0:
                    return kept;
                case 1:
                    return kept.getClassLoader();
                case 2:
                    return kept.getDeclaredConstructor().newInstance();
                case 3:
                    return kept.getMethod("lambda").invoke(null);
                case 4:
                    return kept.getMethod("hidden").invoke(null).getClass();
                case 5:
                    return kept.getMethod("hidden").invoke(null);
                default:
                    return MethodHandles.publicLookup().findStatic(kept, "secret", MethodType.methodType(int.class));
            }
        }

        private static int secret(Object held) throws Exception {
            Object found = held instanceof Loaders.Loader ? ((Loaders.Loader) held).load(Reachable.Kept.class) : held;
            found = found instanceof Class ? ((Class<?>) found).getDeclaredConstructor().newInstance() : found;
            try {
                return found instanceof MethodHandle ? (int) ((MethodHandle) found).invoke() : ((IntSupplier) found).getAsInt();
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }
    }
}
