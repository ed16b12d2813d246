// SPDX-License-Identifier: MIT OR Apache-2.0

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;

/** Methods whose compiled code compiled_code.py looks at: each is one access to the heap. */
class Sites {
    static final class Holder implements Cloneable {
        Object field;
        int number;

        @Override
        public Object clone() throws CloneNotSupportedException {
            return super.clone();
        }
    }

    private static final VarHandle FIELD;
    private static Object fixed;

    static {
        try {
            FIELD = MethodHandles.lookup().findVarHandle(Holder.class, "field", Object.class);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static Holder make() {
        return new Holder();
    }

    static Object[] makeArray(int length) {
        return new Object[length];
    }

    static void storeNumber(Holder holder, int number) {
        holder.number = number;
    }

    static Object load(Holder holder) {
        return holder.field;
    }

    static void storeField(Holder holder, Object value) {
        holder.field = value;
    }

    static void storeStatic(Object value) {
        fixed = value;
    }

    static void storeElement(Object[] array, int index, Object value) {
        array[index] = value;
    }

    static boolean compareAndSet(Holder holder, Object expected, Object value) {
        return FIELD.compareAndSet(holder, expected, value);
    }

    static Object getAndSet(Holder holder, Object value) {
        return FIELD.getAndSet(holder, value);
    }

    static Object referent(WeakReference<?> reference) {
        return reference.get();
    }

    static boolean refersTo(Reference<Object> reference, Object value) {
        return reference.refersTo(value);
    }

    static void copy(Object[] from, Object[] to) {
        System.arraycopy(from, 0, to, 0, 3);
    }

    static Object cloneHolder(Holder holder) throws CloneNotSupportedException {
        return holder.clone();
    }

    static Object cloneArray(Object[] array) {
        return array.clone();
    }

    /** Has each method compiled: HotSpot does it after a number of calls that the command line sets. */
    public static void main(String[] args) throws Exception {
        Object value = "value";
        Holder holder = new Holder();
        Object[] array = {value, holder, value, holder};
        Object[] other = array.clone();
        WeakReference<Object> reference = new WeakReference<>(value);
        for (int i = 0; i < 20_000; i++) {
            make();
            makeArray(i & 15);
            storeNumber(holder, i);
            load(holder);
            storeField(holder, value);
            storeStatic(value);
            storeElement(array, i & 3, value);
            compareAndSet(holder, value, value);
            getAndSet(holder, value);
            referent(reference);
            refersTo(reference, value);
            copy(array, other);
            cloneHolder(holder);
            cloneArray(array);
        }
    }
}
