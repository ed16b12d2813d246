// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Class loaders, their classes, hidden classes, proxies and the static fields of all of them stay alive and follow moves.
 * @library /lib
 * @run main/othervm -Xmx64m ClassLoaders
 */

import heap.Check;
import heap.Heap;
import heap.Loaders;
import java.lang.invoke.MethodHandles;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;

public class ClassLoaders {
    private static final int LOADERS = 300;

    /** Defined anew by each loader. */
    public static class Holder {
        public static Object first = new int[] {1};
        public static long between = 2;
        public static String last = new StringBuilder("la").append("st").toString();
        public static final List<Object> LIST = new ArrayList<>();
        public static Holder self = new Holder();
        public final Object field = "field of " + Holder.class.getClassLoader().hashCode();
    }

    /** Defined anew as a hidden class. */
    public static class Hidden implements IntSupplier {
        private static final int[] VALUE = {17};

        @Override
        public int getAsInt() {
            return VALUE[0];
        }
    }

    private static final class Numbered extends Loaders.Loader {
        final int number;

        Numbered(int number) {
            super(Holder.class);
            this.number = number;
        }
    }

    public static void main(String[] args) throws Exception {
        List<Class<?>> classes = define();
        IntSupplier[] hidden = hidden();
        Runnable proxy = proxy();
        WeakReference<ClassLoader> onlyByClass = new WeakReference<>(classes.get(0).getClassLoader());
        for (int round = 0; round < 4; round++) {
            Heap.churn(4 * Heap.MIB);
            Heap.collect(1);
            for (int i = 0; i < LOADERS; i++) {
                check(classes.get(i), i);
            }
            for (IntSupplier supplier : hidden) {
                Check.equal(17, supplier.getAsInt(), "static field of a hidden class");
            }
            proxy.run();
        }
        Check.same(classes.get(0).getClassLoader(), onlyByClass.get(), "a loader that is held by its class");
    }

    private static List<Class<?>> define() throws Exception {
        List<Class<?>> classes = new ArrayList<>();
        for (int i = 0; i < LOADERS; i++) {
            Class<?> type = new Numbered(i).load(Holder.class);
            type.getField("first").set(null, new int[] {i});
            type.getField("between").setLong(null, i);
            classes.add(type);
        }
        return classes;
    }

    private static IntSupplier[] hidden() throws Exception {
        byte[] bytes = Loaders.codeOf(Hidden.class);
        IntSupplier[] suppliers = new IntSupplier[50];
        for (int i = 0; i < suppliers.length; i++) {
            Class<?> type = MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass();
            suppliers[i] = (IntSupplier) type.getConstructor().newInstance();
        }
        return suppliers;
    }

    private static Runnable proxy() {
        Object expected = new Object();
        Object[] seen = {expected};
        return (Runnable) Proxy.newProxyInstance(ClassLoaders.class.getClassLoader(), new Class<?>[] {Runnable.class},
                (self, method, arguments) -> {
                    Check.same(expected, seen[0], "what a proxy's handler captures");
                    return null;
                });
    }

    private static void check(Class<?> type, int i) throws Exception {
        Numbered loader = (Numbered) type.getClassLoader();
        Check.equal(i, loader.number, "the loader of a class");
        Check.equal(i, ((int[]) type.getField("first").get(null))[0], "a static field");
        Check.equal((long) i, type.getField("between").getLong(null), "a static long");
        Check.equal("last", type.getField("last").get(null), "a static String");
        @SuppressWarnings("unchecked")
        List<Object> list = (List<Object>) type.getField("LIST").get(null);
        list.add(i);
        Check.equal(i, list.get(list.size() - 1), "a static list");
        Object self = type.getField("self").get(null);
        Check.same(type, self.getClass(), "the class of an object in a static field");
        Field field = type.getField("field");
        Check.equal("field of " + loader.hashCode(), field.get(self), "a field of that object");
    }
}
