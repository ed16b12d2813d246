// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary What is unloaded is logged and counted; with -XX:-ClassUnloading nothing is; the metaspace's threshold has collections run.
 * @requires vm.opt.ThirdPartyHeapOptions != "plan=NoGC"
 * @library /lib
 * @run main Switch
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.Loaders;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.util.stream.Stream;

public class Switch {
    private static final int LOADERS = 200;
    private static final String UNLOADED = "unloading class Switch\\$Unloaded ";

    public static void main(String[] args) throws Exception {
        Child on = Child.with("-Xlog:class+unload").main(Main.class, "some").mustExitCleanly(0);
        Check.equal((long) LOADERS, on.out().lines().filter(line -> line.matches(".*" + UNLOADED + ".*")).count(), "classes that are logged");
        Check.matches("unloaded " + LOADERS + ", dead " + LOADERS, on.out(), "counts");
        Child off = Child.with("-XX:-ClassUnloading", "-Xlog:class+unload").main(Main.class, "some").mustExitCleanly(0);
        Check.matches("unloaded 0, dead 0", off.out(), "counts without unloading");
        Check.that(!off.out().contains("unloading class"), "nothing is logged without unloading");
        Child full = Child.with("-Xmx256m", "-XX:MetaspaceSize=4m", "-XX:MaxMetaspaceSize=16m", "-Xlog:gc").main(Main.class, "many").mustExitCleanly(0);
        Check.matches("Pause Full \\(Metadata GC Threshold\\)", full.out(), "a collection for the metaspace");
    }

    /** Defined by each loader. */
    public static class Unloaded {
        static int[] value = {1};
    }

    /** Makes loaders and drops them. */
    public static class Main {
        public static void main(String[] args) throws Exception {
            boolean full = args[0].equals("many");
            WeakReference<?>[] loaders = new WeakReference<?>[full ? 10 * LOADERS : LOADERS];
            for (int i = 0; i < loaders.length; i++) {
                loaders[i] = new WeakReference<>(new Loaders.Loader(Unloaded.class).make(Unloaded.class).getClass().getClassLoader());
            }
            if (full) {
                return;
            }
            ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
            long before = classes.getUnloadedClassCount();
            Heap.collect(1);
            long unloaded = classes.getUnloadedClassCount() - before;
            long dead = Stream.of(loaders).filter(loader -> loader.get() == null).count();
            System.out.println("unloaded " + unloaded + ", dead " + dead);
        }
    }
}
