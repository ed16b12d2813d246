// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Thousands of class loaders, each with classes, lambdas, proxies, compiled code and thread locals: metaspace and code cache stay level.
 * @requires vm.opt.ThirdPartyHeapOptions != "plan=NoGC"
 * @library /lib
 * @run main Soak
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.Loaders;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.function.IntUnaryOperator;
import java.util.function.LongSupplier;

public class Soak {
    /** For longer runs: {@code JAVA_OPTIONS=-Dloaders=10000 make jtreg TESTS=openjdk/test/unloading/Soak.java}. */
    private static final int LOADERS = Integer.getInteger("loaders", 2_000);

    public static void main(String[] args) throws Exception {
        // Methods are compiled early, so that each loader has compiled code. Without unloading, this metaspace has room for half of them.
        Child.with("-Xmx64m", "-XX:MaxMetaspaceSize=32m", "-XX:Tier3InvocationThreshold=20", "-XX:Tier3BackEdgeThreshold=200",
                "-XX:ReservedCodeCacheSize=24m").main(Main.class, Integer.toString(LOADERS)).mustExitCleanly(0);
    }

    /** What each loader defines: its instances use most of what makes a class hard to unload. */
    public static class Work implements Callable<Long> {
        private static final ThreadLocal<Object> LOCAL = ThreadLocal.withInitial(Work::new);
        private static final int[] TABLE = new int[64];
        private final MethodHandle handle;

        public Work() {
            try {
                handle = MethodHandles.lookup().findVirtual(Work.class, "sum", MethodType.methodType(long.class, int.class));
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }

        long sum(int limit) {
            IntUnaryOperator add = value -> value + TABLE.length;
            long sum = 0;
            for (int i = 0; i < limit; i++) {
                sum += add.applyAsInt(TABLE[i % TABLE.length]);
            }
            return sum;
        }

        @Override
        public Long call() {
            try {
                return callAll();
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }

        private long callAll() throws Throwable {
            LongSupplier proxy = (LongSupplier) Proxy.newProxyInstance(Work.class.getClassLoader(), new Class<?>[] {LongSupplier.class, Own.class},
                    (self, method, arguments) -> ((Work) LOCAL.get()).sum(10));
            Method reflective = Work.class.getDeclaredMethod("sum", int.class);
            long sum = (long) handle.invokeExact(this, 100) + proxy.getAsLong();
            // Often enough for reflection to make an accessor class, which has a loader of its own.
            for (int i = 0; i < 20; i++) {
                sum += (long) reflective.invoke(this, 1);
            }
            Class<?> hidden = MethodHandles.lookup().defineHiddenClass(CODE_OF_OWN, true).lookupClass();
            String text = "sum " + sum + " of " + hidden.isHidden();
            return text.isEmpty() ? 0 : sum;
        }

        private static final byte[] CODE_OF_OWN = Loaders.codeOf(OwnImplementation.class);
    }

    /** An interface that is each loader's own: a proxy of it is defined by that loader. */
    public interface Own {}

    /** Defined as a hidden class. */
    public static class OwnImplementation {}

    /** The whole soak, of as many loaders as its argument says. */
    public static class Main {
        public static void main(String[] args) throws Exception {
            int loaders = Integer.parseInt(args[0]);
            ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
            long settledMetaspace = 0;
            long settledCode = 0;
            int settledClasses = 0;
            for (int i = 0; i < loaders; i++) {
                Loaders.Loader loader = new Loaders.Loader(Work.class, Own.class);
                @SuppressWarnings("unchecked")
                Callable<Long> work = (Callable<Long>) loader.make(Work.class);
                long expected = 100 * 64 + 10 * 64 + 20 * 64;
                Check.equal(expected, callOnThread(work), "what the work of a loader returns");
                if (i == loaders / 3) {
                    settle();
                    settledMetaspace = used("Metaspace");
                    settledCode = code();
                    settledClasses = classes.getLoadedClassCount();
                }
            }
            settle();
            System.out.println("classes " + settledClasses + " then " + classes.getLoadedClassCount() + ", unloaded " + classes.getUnloadedClassCount()
                    + "; metaspace " + settledMetaspace + " then " + used("Metaspace") + "; code " + settledCode + " then " + code());
            Check.that(classes.getUnloadedClassCount() > loaders * 5L, "classes are unloaded: " + classes.getUnloadedClassCount());
            Check.that(classes.getLoadedClassCount() < settledClasses + 300, "loaded classes stay level");
            Check.that(used("Metaspace") < settledMetaspace + 2 * Heap.MIB, "the metaspace stays level");
            Check.that(code() < settledCode + 3 * Heap.MIB, "the code cache stays level");
        }

        /** In a thread that ends with the thread local set, as no other may: the local's value keeps the loader, and so the local, alive. */
        private static long callOnThread(Callable<Long> work) throws Exception {
            FutureTask<Long> result = new FutureTask<>(work);
            new Thread(result).start();
            return result.get();
        }

        /** Softly held caches of reflection and method handles live until the second collection, and the sweeper follows. */
        private static void settle() throws InterruptedException {
            for (int i = 0; i < 4; i++) {
                Heap.collect(1);
                Thread.sleep(500);
            }
        }

        private static long used(String pool) {
            return ManagementFactory.getMemoryPoolMXBeans().stream().filter(bean -> bean.getName().equals(pool))
                    .mapToLong(bean -> bean.getUsage().getUsed()).sum();
        }

        private static long code() {
            return ManagementFactory.getMemoryPoolMXBeans().stream().map(MemoryPoolMXBean::getName).filter(name -> name.startsWith("Code"))
                    .mapToLong(Main::used).sum();
        }
    }
}
