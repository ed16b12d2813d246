// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A class loader lives as long as one thing reaches it, whatever that is, and is unloaded after that.
 * @requires vm.opt.ThirdPartyHeapOptions != "plan=NoGC"
 * @library /lib
 * @run main/othervm/native -Xmx64m Reachable
 * @run main/othervm/native -Xmx64m -Xint Reachable
 * @run main/othervm/native -Xmx64m -Xcomp -XX:CompileCommand=compileonly,Reachable*::* Reachable
 */

import heap.Check;
import heap.Heap;
import heap.Loaders;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.lang.reflect.Proxy;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;

public class Reachable {
    static final int SECRET = 4711;

    /** Defined by each loader. */
    public static class Kept implements IntSupplier {
        private static int[] value = {SECRET};

        @Override
        public int getAsInt() {
            return value[0];
        }

        public static int secret() {
            return value[0];
        }

        public static IntSupplier lambda() {
            return () -> value[0];
        }

        public static IntSupplier hidden() throws ReflectiveOperationException {
            byte[] code = Loaders.codeOf(OfHidden.class);
            Class<?> hidden = MethodHandles.lookup().defineHiddenClass(code, true).lookupClass();
            return (IntSupplier) hidden.getDeclaredConstructor().newInstance();
        }

        public static RuntimeException exception() {
            return new RuntimeException();
        }

        /** The frame of this method is what reaches the class, while the thread waits. */
        public static void await(CountDownLatch waiting, CountDownLatch end, AtomicInteger result) throws InterruptedException {
            waiting.countDown();
            end.await();
            result.set(value[0]);
        }
    }

    /** Defined by each loader, as a hidden class. Class loader data, to which the mirror leads, hold the resolved string. */
    public static class OfHidden implements IntSupplier {
        private static int[] value = {SECRET};

        @Override
        public int getAsInt() {
            return value[0] + "".length();
        }
    }

    /** Defined by each loader, and reachable from its finalizer alone. */
    public static class Finalized {
        private static int[] value = {SECRET};

        @Override
        @SuppressWarnings("deprecation")
        protected void finalize() {
            FOUND.set(value[0]);
        }
    }

    public static final AtomicInteger FOUND = new AtomicInteger();

    /** What reaches a loader, and then finds the secret of its class through that. */
    interface Path {
        Callable<Integer> from(Class<?> kept) throws Exception;
    }

    static native long globalReference(Object object);

    static native Object take(long reference);

    public static void main(String[] args) throws Exception {
        System.loadLibrary("Handles");
        check("the loader", Reachable::loader);
        check("the class", Reachable::ofClass);
        check("an object", Reachable::object);
        check("an array", Reachable::array);
        check("a method", Reachable::method);
        check("a method handle", Reachable::methodHandle);
        check("a lambda", Reachable::lambda);
        check("a hidden class", Reachable::hidden);
        check("a proxy", Reachable::proxy);
        check("an exception", Reachable::exception);
        check("a JNI reference to an object", kept -> reference(instance(kept)));
        check("a JNI reference to a class", Reachable::reference);
        check("a frame", Reachable::frame);
        finalizer();
    }

    private static Callable<Integer> loader(Class<?> kept) {
        Loaders.Loader loader = (Loaders.Loader) kept.getClassLoader();
        return () -> ((IntSupplier) loader.make(Kept.class)).getAsInt();
    }

    private static Callable<Integer> ofClass(Class<?> kept) {
        return () -> instance(kept).getAsInt();
    }

    private static Callable<Integer> object(Class<?> kept) throws Exception {
        IntSupplier object = instance(kept);
        return object::getAsInt;
    }

    private static Callable<Integer> array(Class<?> kept) {
        Object array = Array.newInstance(kept, 0, 0);
        return () -> instance(array.getClass().getComponentType().getComponentType()).getAsInt();
    }

    private static Callable<Integer> method(Class<?> kept) throws Exception {
        java.lang.reflect.Method method = kept.getMethod("secret");
        return () -> (int) method.invoke(null);
    }

    private static Callable<Integer> methodHandle(Class<?> kept) throws Exception {
        MethodHandle handle = MethodHandles.publicLookup().findStatic(kept, "secret", MethodType.methodType(int.class));
        return () -> call(handle);
    }

    private static int call(MethodHandle handle) {
        try {
            return (int) handle.invokeExact();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static Callable<Integer> lambda(Class<?> kept) throws Exception {
        IntSupplier lambda = (IntSupplier) kept.getMethod("lambda").invoke(null);
        return lambda::getAsInt;
    }

    private static Callable<Integer> hidden(Class<?> kept) throws Exception {
        IntSupplier hidden = (IntSupplier) kept.getMethod("hidden").invoke(null);
        return hidden::getAsInt;
    }

    private static Callable<Integer> proxy(Class<?> kept) throws Exception {
        IntSupplier object = instance(kept);
        IntSupplier proxy = (IntSupplier) Proxy.newProxyInstance(kept.getClassLoader(), new Class<?>[] {IntSupplier.class},
                (self, method, arguments) -> object.getAsInt());
        return proxy::getAsInt;
    }

    /** The class is reached through what HotSpot notes of the frames alone. */
    private static Callable<Integer> exception(Class<?> kept) throws Exception {
        RuntimeException exception = (RuntimeException) kept.getMethod("exception").invoke(null);
        return () -> exception.getStackTrace()[0].getMethodName().equals("exception") ? SECRET : 0;
    }

    private static Callable<Integer> reference(Object object) {
        long reference = globalReference(object);
        return () -> {
            Object taken = take(reference);
            return taken instanceof Class ? instance((Class<?>) taken).getAsInt() : ((IntSupplier) taken).getAsInt();
        };
    }

    private static Callable<Integer> frame(Class<?> kept) throws Exception {
        CountDownLatch waiting = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        AtomicInteger result = new AtomicInteger();
        MethodHandle[] once = {MethodHandles.publicLookup().findStatic(kept, "await",
                MethodType.methodType(void.class, CountDownLatch.class, CountDownLatch.class, AtomicInteger.class))};
        Thread thread = new Thread(() -> {
            try {
                MethodHandle handle = once[0];
                once[0] = null;
                handle.invokeExact(waiting, end, result);
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        });
        thread.start();
        waiting.await();
        return () -> {
            end.countDown();
            thread.join();
            return result.get();
        };
    }

    private static IntSupplier instance(Class<?> kept) throws ReflectiveOperationException {
        return (IntSupplier) kept.getDeclaredConstructor().newInstance();
    }

    private static void check(String what, Path path) throws Exception {
        Object[] loader = {new Loaders.Loader(Kept.class, OfHidden.class)};
        Callable<Integer>[] secret = path(path, loader);
        WeakReference<Object> weak = new WeakReference<>(loader[0]);
        loader[0] = null;
        for (int round = 0; round < 3; round++) {
            Heap.churn(2 * Heap.MIB);
            Heap.collect(1);
            Check.that(weak.get() != null, what + " reaches the loader");
        }
        Check.equal(SECRET, secret[0].call(), "what is found through " + what);
        secret[0] = null;
        Check.eventually(() -> {
            System.gc();
            return weak.get() == null;
        }, "the end of a loader that only " + what + " reached");
    }

    /** In a frame of its own, which is gone when the collections come. */
    @SuppressWarnings("unchecked")
    private static Callable<Integer>[] path(Path path, Object[] loader) throws Exception {
        return new Callable[] {path.from(((Loaders.Loader) loader[0]).load(Kept.class))};
    }

    private static void finalizer() {
        WeakReference<Object> weak = new WeakReference<>(new Loaders.Loader(Finalized.class).make(Finalized.class).getClass().getClassLoader());
        Check.eventually(() -> {
            Heap.churn(2 * Heap.MIB);
            System.gc();
            return FOUND.get() != 0;
        }, "the finalizer runs");
        Check.equal(SECRET, FOUND.get(), "what the finalizer finds");
        Check.eventually(() -> {
            System.gc();
            return weak.get() == null;
        }, "the end of the loader after the finalizer");
    }
}
