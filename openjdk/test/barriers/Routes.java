// SPDX-License-Identifier: MIT OR Apache-2.0

import heap.RawMemory;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import sun.misc.Unsafe;

/** The ways in which a reference gets into an object. */
final class Routes {
    static {
        System.loadLibrary("OldToYoung");
    }

    /** An object that is old when it is stored into. */
    static final class Holder {
        Object field;
        volatile Object shared;
        final Object[] array = new Object[8];
        final int[][] typed = new int[8][];
        final AtomicReference<Object> atomic = new AtomicReference<>();
        final AtomicReferenceArray<Object> atomics = new AtomicReferenceArray<>(8);
        /** Large enough for the space of large objects of every plan. */
        final Object[] large;

        private Holder(int length) {
            large = new Object[length];
        }

        Holder() {
            this(0);
        }
    }

    /** One way: it stores a value, and finds it again. If {@code shared}, there is one holder, or none is needed. No two ways have a place in common. */
    record Route(String name, boolean shared, Store store, Load load) {
        void store(Holder holder, int[] value) throws Exception {
            try {
                store.apply(holder, value);
            } catch (Throwable e) {
                throw new AssertionError(name, e);
            }
        }

        int[] load(Holder holder) {
            return (int[]) load.apply(holder);
        }

        /** So many holders, or one. */
        Holder[] holders(int count) {
            Holder[] holders = new Holder[shared ? 1 : count];
            Arrays.setAll(holders, i -> shared ? new Holder(LARGE) : new Holder());
            return holders;
        }
    }

    interface Store {
        void apply(Holder holder, int[] value) throws Throwable;
    }

    interface Load {
        Object apply(Holder holder);
    }

    private static final int INDEX = 3;

    private static final Unsafe UNSAFE = RawMemory.unsafe();
    private static final long FIELD;
    private static final long ELEMENT = Unsafe.ARRAY_OBJECT_BASE_OFFSET + (long) INDEX * Unsafe.ARRAY_OBJECT_INDEX_SCALE;
    private static final VarHandle FIELD_HANDLE;
    private static final VarHandle ELEMENT_HANDLE = MethodHandles.arrayElementVarHandle(Object[].class);
    private static final VarHandle SET;
    private static final VarHandle GET_AND_SET;
    private static final MethodHandle SETTER;
    private static final MethodHandle ELEMENT_SETTER = MethodHandles.arrayElementSetter(Object[].class);
    private static final Field REFLECTED;
    private static final Field REFLECTED_STATIC;
    private static final AtomicReferenceFieldUpdater<Holder, Object> UPDATER =
            AtomicReferenceFieldUpdater.newUpdater(Holder.class, Object.class, "shared");

    private static final int LARGE = 100_000;

    /** One for each way. */
    private static Object byBytecode;
    private static Object bySet;
    private static Object byGetAndSet;
    private static Object byReflection;
    private static Object byJni;

    static {
        try {
            REFLECTED = Holder.class.getDeclaredField("field");
            REFLECTED_STATIC = Routes.class.getDeclaredField("byReflection");
            FIELD = UNSAFE.objectFieldOffset(REFLECTED);
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            FIELD_HANDLE = lookup.findVarHandle(Holder.class, "field", Object.class);
            SET = lookup.findStaticVarHandle(Routes.class, "bySet", Object.class);
            GET_AND_SET = lookup.findStaticVarHandle(Routes.class, "byGetAndSet", Object.class);
            SETTER = lookup.findSetter(Holder.class, "field", Object.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final List<Route> routes = new ArrayList<>();

    private Routes() {}

    static List<Route> all() {
        Routes all = new Routes();
        all.bytecodes();
        all.copies();
        all.unsafe();
        all.varHandles();
        all.atomics();
        all.reflection();
        all.jni();
        return all.routes;
    }

    private void field(String name, Store store) {
        routes.add(new Route(name, false, store, holder -> holder.field));
    }

    private void element(String name, Store store) {
        routes.add(new Route(name, false, store, holder -> holder.array[INDEX]));
    }

    private void bytecodes() {
        field("putfield", (holder, value) -> holder.field = value);
        field("putfield of null, then of a value", (holder, value) -> {
            holder.field = null;
            holder.field = value;
        });
        routes.add(new Route("putfield of a chain that is made first to last", false, (holder, value) -> {
            Holder inner = new Holder();
            holder.field = inner;
            inner.field = value;
        }, holder -> ((Holder) holder.field).field));
        element("aastore", (holder, value) -> holder.array[INDEX] = value);
        routes.add(new Route("aastore with a check", false, (holder, value) -> holder.typed[INDEX] = value, holder -> holder.typed[INDEX]));
        routes.add(new Route("aastore into a large array", true, (holder, value) -> holder.large[LARGE - 5] = value, holder -> holder.large[LARGE - 5]));
        routes.add(new Route("putfield of a volatile", false, (holder, value) -> holder.shared = value, holder -> holder.shared));
        routes.add(new Route("putstatic", true, (holder, value) -> byBytecode = value, holder -> byBytecode));
    }

    private static void copy(Object from, int start, Object to, int at, int count) {
        System.arraycopy(from, start, to, at, count);
    }

    private void copies() {
        element("arraycopy", (holder, value) -> System.arraycopy(new Object[] {null, value, null}, 1, holder.array, INDEX, 1));
        element("arraycopy that overlaps", (holder, value) -> {
            holder.array[INDEX + 1] = value;
            System.arraycopy(holder.array, INDEX + 1, holder.array, INDEX, 2);
        });
        element("arraycopy of any array", (holder, value) -> copy(new Object[] {value, value}, 0, holder.array, INDEX, 2));
        routes.add(new Route("arraycopy with a check of each element", false,
                (holder, value) -> System.arraycopy(new Object[] {value, value}, 0, holder.typed, INDEX, 2), holder -> holder.typed[INDEX]));
        routes.add(new Route("arraycopy that a wrong element ends", false, (holder, value) -> {
            try {
                System.arraycopy(new Object[] {value, "wrong"}, 0, holder.typed, INDEX, 2);
                throw new AssertionError("a string got into an int[][]");
            } catch (ArrayStoreException expected) {
                // The element before it has been copied.
            }
        }, holder -> holder.typed[INDEX]));
        routes.add(new Route("arraycopy into a large array", true,
                (holder, value) -> System.arraycopy(new Object[] {value, value}, 0, holder.large, 77_777, 2), holder -> holder.large[77_778]));
        routes.add(new Route("a clone of an array", false, (holder, value) -> {
            holder.array[INDEX] = value;
            holder.field = holder.array.clone();
            holder.array[INDEX] = null;
        }, holder -> ((Object[]) holder.field)[INDEX]));
        routes.add(new Route("a clone of an object", false, (holder, value) -> holder.field = new Pair(value).copy(), holder -> ((Pair) holder.field).second));
    }

    private static final class Pair implements Cloneable {
        Object first;
        Object second;

        Pair(Object value) {
            first = value;
            second = value;
        }

        Pair copy() throws CloneNotSupportedException {
            return (Pair) clone();
        }
    }

    private void unsafe() {
        field("Unsafe.putObject", (holder, value) -> UNSAFE.putObject(holder, FIELD, value));
        field("Unsafe.putObjectVolatile", (holder, value) -> UNSAFE.putObjectVolatile(holder, FIELD, value));
        field("Unsafe.putOrderedObject", (holder, value) -> UNSAFE.putOrderedObject(holder, FIELD, value));
        field("Unsafe.compareAndSwapObject", (holder, value) -> UNSAFE.compareAndSwapObject(holder, FIELD, holder.field, value));
        field("Unsafe.getAndSetObject", (holder, value) -> UNSAFE.getAndSetObject(holder, FIELD, value));
        element("Unsafe.putObject of an element", (holder, value) -> UNSAFE.putObject(holder.array, ELEMENT, value));
        element("Unsafe.compareAndSwapObject of an element", (holder, value) -> UNSAFE.compareAndSwapObject(holder.array, ELEMENT, holder.array[INDEX], value));
        element("Unsafe.getAndSetObject of an element", (holder, value) -> UNSAFE.getAndSetObject(holder.array, ELEMENT, value));
    }

    private void varHandles() {
        field("VarHandle.set", (holder, value) -> FIELD_HANDLE.set(holder, (Object) value));
        field("VarHandle.setVolatile", (holder, value) -> FIELD_HANDLE.setVolatile(holder, (Object) value));
        field("VarHandle.setRelease", (holder, value) -> FIELD_HANDLE.setRelease(holder, (Object) value));
        field("VarHandle.compareAndSet", (holder, value) -> FIELD_HANDLE.compareAndSet(holder, holder.field, (Object) value));
        field("VarHandle.compareAndExchange", (holder, value) -> FIELD_HANDLE.compareAndExchange(holder, holder.field, (Object) value));
        field("VarHandle.getAndSet", (holder, value) -> FIELD_HANDLE.getAndSet(holder, (Object) value));
        field("VarHandle.weakCompareAndSet", (holder, value) -> {
            boolean done;
            do {
                done = FIELD_HANDLE.weakCompareAndSet(holder, holder.field, (Object) value);
            } while (!done);
        });
        element("VarHandle.set of an element", (holder, value) -> ELEMENT_HANDLE.set(holder.array, INDEX, (Object) value));
        element("VarHandle.compareAndSet of an element",
                (holder, value) -> ELEMENT_HANDLE.compareAndSet(holder.array, INDEX, holder.array[INDEX], (Object) value));
        element("VarHandle.getAndSet of an element", (holder, value) -> ELEMENT_HANDLE.getAndSet(holder.array, INDEX, (Object) value));
        routes.add(new Route("VarHandle.set of a static field", true, (holder, value) -> SET.set((Object) value), holder -> bySet));
        routes.add(new Route("VarHandle.getAndSet of a static field", true, (holder, value) -> GET_AND_SET.getAndSet((Object) value), holder -> byGetAndSet));
        field("a MethodHandle that sets a field", (holder, value) -> { SETTER.invokeExact(holder, (Object) value); });
        element("a MethodHandle that sets an element", (holder, value) -> { ELEMENT_SETTER.invokeExact(holder.array, INDEX, (Object) value); });
    }

    private void atomics() {
        routes.add(new Route("AtomicReference", false, (holder, value) -> holder.atomic.set(value), holder -> holder.atomic.get()));
        routes.add(new Route("AtomicReference.updateAndGet", false, (holder, value) -> holder.atomic.updateAndGet(old -> value), holder -> holder.atomic.get()));
        routes.add(new Route("AtomicReferenceArray", false, (holder, value) -> holder.atomics.getAndSet(INDEX, value), holder -> holder.atomics.get(INDEX)));
        routes.add(new Route("AtomicReferenceFieldUpdater", false,
                (holder, value) -> UPDATER.compareAndSet(holder, holder.shared, value), holder -> holder.shared));
    }

    private void reflection() {
        field("Field.set", (holder, value) -> REFLECTED.set(holder, value));
        routes.add(new Route("Field.set of a static field", true, (holder, value) -> REFLECTED_STATIC.set(null, value), holder -> byReflection));
        element("Array.set", (holder, value) -> Array.set(holder.array, INDEX, value));
    }

    private static native void setField(Holder holder, Object value);

    private static native void setElement(Object[] array, int index, Object value);

    private static native void setStatic(Object value);

    private void jni() {
        field("JNI SetObjectField", Routes::setField);
        element("JNI SetObjectArrayElement", (holder, value) -> setElement(holder.array, INDEX, value));
        routes.add(new Route("JNI SetStaticObjectField", true, (holder, value) -> setStatic(value), holder -> byJni));
    }
}
