// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Arrays and objects of every size of a cell, and larger ones, allocated by the interpreter and by compiled code, are zero, disjoint,
 *          and keep their contents.
 * @library /lib
 * @modules java.base/jdk.internal.org.objectweb.asm
 *          jdk.unsupported
 * @run main/othervm -Xmx32m -Xint AllSizes
 * @run main/othervm -Xmx32m -Xint -XX:-UseCompressedOops AllSizes
 * @run main/othervm -Xmx32m -Xcomp -XX:TieredStopAtLevel=1 AllSizes
 * @run main/othervm -Xmx32m -Xcomp -XX:TieredStopAtLevel=1 -XX:-UseCompressedOops AllSizes
 * @run main/othervm -Xmx32m -Xcomp -XX:-TieredCompilation -XX:CompileCommand=compileonly,AllSizes*::* AllSizes
 * @run main/othervm -Xmx32m -Xcomp -XX:-TieredCompilation -XX:CompileCommand=compileonly,AllSizes*::* -XX:AllocatePrefetchStyle=3 AllSizes
 * @run main/othervm -Xmx32m -Xcomp -XX:-TieredCompilation -XX:CompileCommand=compileonly,AllSizes*::* -XX:-UseCompressedOops AllSizes
 * @run main/othervm -Xmx32m -Xbatch AllSizes
 * @run main/othervm -Xmx32m -Xbatch -XX:AllocatePrefetchStepSize=48 AllSizes
 */

import heap.Check;
import heap.Heap;
import heap.RawMemory;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.Random;
import java.util.TreeSet;
import java.util.function.IntFunction;
import jdk.internal.org.objectweb.asm.ClassWriter;
import jdk.internal.org.objectweb.asm.Label;
import jdk.internal.org.objectweb.asm.MethodVisitor;
import jdk.internal.org.objectweb.asm.Opcodes;
import jdk.internal.org.objectweb.asm.Type;
import sun.misc.Unsafe;

public class AllSizes {
    /** The largest cell. Larger objects have pages of their own. */
    private static final int MAX_CELL = 64 << 10;
    private static final int HEADER = 16;
    private static final int ROUNDS = 3;
    private static final Unsafe UNSAFE = RawMemory.unsafe();
    private static final int REFERENCE = UNSAFE.arrayIndexScale(Object[].class);

    /** What is allocated: arrays, of which the second kind does not fill its last word; last, objects with many fields. */
    private static final int BYTES = 0;
    private static final int ODD_BYTES = 1;
    private static final int INTS = 2;
    private static final int LONGS = 3;
    private static final int OBJECTS = 4;
    private static final int FIELDS = 5;

    /** What was allocated lately, and a value for each, which fills it. Chance says which of them dies next, so that there are holes. */
    private static final Object[] KEPT = new Object[96];
    private static final int[] STAMPS = new int[KEPT.length];
    private static final Object[] TARGETS = new Random(2).ints(256).boxed().toArray();
    private static final Random RANDOM = new Random(1);

    public static void main(String[] args) throws Exception {
        long before = Heap.collections();
        for (int bytes : sizesNearBorders()) {
            IntFunction<?> maker = maker(bytes);
            for (int round = 0; round < ROUNDS; round++) {
                for (int kind = BYTES; kind < FIELDS; kind++) {
                    keep(array(kind, bytes), "a new array of kind " + kind + " with " + bytes + " bytes");
                }
                for (int kind = BYTES; kind <= FIELDS; kind++) {
                    keep(maker.apply(kind), "a new object of kind " + kind + " with a constant size of " + bytes + " bytes");
                }
            }
        }
        checkAll();
        Check.that(Heap.collections() - before >= 12, "collections ran meanwhile: " + (Heap.collections() - before));
    }

    /** An array whose size no compiler knows. */
    private static Object array(int kind, int bytes) {
        int length = length(kind, bytes);
        return switch (kind) {
            case BYTES, ODD_BYTES -> new byte[length];
            case INTS -> new int[length];
            case LONGS -> new long[length];
            default -> new Object[length];
        };
    }

    private static int length(int kind, int bytes) {
        int room = bytes - HEADER;
        return switch (kind) {
            case BYTES -> room;
            case ODD_BYTES -> Math.max(room - 7, 0);
            case INTS -> room / 4;
            case LONGS -> room / 8;
            default -> room / REFERENCE;
        };
    }

    /**
     * Sizes at which cells end, and the next ones. Above 1 KiB, cells end at 32nds of a power of two, from 8 KiB on at eighths, or
     * hold an array whose length is a power of two.
     */
    private static int[] sizesNearBorders() {
        TreeSet<Integer> sizes = new TreeSet<>();
        for (int bytes = HEADER; bytes < 1024; bytes += 8) {
            sizes.add(bytes);
        }
        for (int power = 1024; power <= MAX_CELL; power *= 2) {
            int step = power / (power < 8192 ? 32 : 8);
            for (int bytes = power; bytes < 2 * power && bytes <= MAX_CELL + 2 * step; bytes += step) {
                sizes.add(bytes);
                sizes.add(bytes + 8);
            }
            sizes.add(power + HEADER);
            sizes.add(power + HEADER + 8);
        }
        return sizes.stream().mapToInt(Integer::intValue).toArray();
    }

    /** Checks that it is zero, fills it, and keeps it in the place of another, which is checked for the last time. */
    private static void keep(Object made, String what) {
        Check.that(isFilledWith(made, 0), what + " is not zero");
        int place = RANDOM.nextInt(KEPT.length);
        check(place);
        KEPT[place] = made;
        STAMPS[place] = 1 + RANDOM.nextInt(255);
        fill(made, STAMPS[place]);
    }

    private static void checkAll() {
        Heap.collect(1);
        for (int place = 0; place < KEPT.length; place++) {
            check(place);
        }
    }

    private static void check(int place) {
        Object kept = KEPT[place];
        Check.that(kept == null || isFilledWith(kept, STAMPS[place]), "something has changed in " + kept);
    }

    private static void fill(Object object, int stamp) {
        if (object instanceof byte[] bytes) {
            Arrays.fill(bytes, (byte) stamp);
        } else if (object instanceof int[] ints) {
            Arrays.fill(ints, stamp);
        } else if (object instanceof long[] longs) {
            Arrays.fill(longs, stamp);
        } else if (object instanceof Object[] objects) {
            Arrays.fill(objects, target(stamp));
        } else {
            Fields fields = (Fields) object;
            for (int i = 0; i < fields.longs(); i++) {
                UNSAFE.putLong(object, fields.offset(i), stamp);
            }
            fields.setReference(target(stamp));
        }
    }

    private static boolean isFilledWith(Object object, int stamp) {
        if (object instanceof byte[] bytes) {
            return isFilled(bytes, (byte) stamp);
        } else if (object instanceof int[] ints) {
            return isFilled(ints, stamp);
        } else if (object instanceof long[] longs) {
            return isFilled(longs, stamp);
        } else if (object instanceof Object[] objects) {
            return isFilled(objects, target(stamp));
        }
        Fields fields = (Fields) object;
        for (int i = 0; i < fields.longs(); i++) {
            if (UNSAFE.getLong(object, fields.offset(i)) != stamp) {
                return false;
            }
        }
        return fields.reference() == target(stamp);
    }

    private static Object target(int stamp) {
        return stamp == 0 ? null : TARGETS[stamp];
    }

    private static boolean isFilled(byte[] array, byte value) {
        for (byte element : array) {
            if (element != value) {
                return false;
            }
        }
        return true;
    }

    private static boolean isFilled(int[] array, int value) {
        for (int element : array) {
            if (element != value) {
                return false;
            }
        }
        return true;
    }

    private static boolean isFilled(long[] array, long value) {
        for (long element : array) {
            if (element != value) {
                return false;
            }
        }
        return true;
    }

    private static boolean isFilled(Object[] array, Object value) {
        for (Object element : array) {
            if (element != value) {
                return false;
            }
        }
        return true;
    }

    /** An object with a reference and so many fields of type long. */
    public abstract static class Fields {
        private Object reference;

        final Object reference() {
            return reference;
        }

        final void setReference(Object target) {
            reference = target;
        }

        /** The number of its other fields. */
        public abstract int longs();

        final long offset(int index) {
            return HEADER + (REFERENCE == 8 ? 8 : 0) + 8L * index;
        }
    }

    /**
     * A new class whose instances have so many bytes, if a header and a reference fit in. Its method makes an object of that size of
     * each kind, the last by `new`: an instance of the class.
     */
    private static IntFunction<?> maker(int bytes) throws Exception {
        int longs = Math.max(bytes - HEADER - (REFERENCE == 8 ? 8 : 0), 0) / 8;
        String name = "AllSizes" + bytes;
        String parent = Type.getInternalName(Fields.class);
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        writer.visit(Opcodes.V1_6, Opcodes.ACC_PUBLIC, name, null, parent, new String[] {Type.getInternalName(IntFunction.class)});
        for (int i = 0; i < longs; i++) {
            writer.visitField(Opcodes.ACC_PUBLIC, "f" + i, "J", null, null);
        }
        MethodVisitor code = writer.visitMethod(Opcodes.ACC_PUBLIC, "<init>", "()V", null, null);
        code.visitVarInsn(Opcodes.ALOAD, 0);
        code.visitMethodInsn(Opcodes.INVOKESPECIAL, parent, "<init>", "()V", false);
        end(code, Opcodes.RETURN);
        code = writer.visitMethod(Opcodes.ACC_PUBLIC, "longs", "()I", null, null);
        code.visitLdcInsn(longs);
        end(code, Opcodes.IRETURN);
        writeApply(writer, name, bytes);
        writer.visitEnd();
        Class<?> made = MethodHandles.lookup().defineClass(writer.toByteArray());
        if (longs > 0) {
            long last = UNSAFE.objectFieldOffset(made.getField("f" + (longs - 1)));
            Check.equal(bytes - 8L, last, "the offset of the last field of " + name);
        }
        return (IntFunction<?>) made.getConstructor().newInstance();
    }

    private static void writeApply(ClassWriter writer, String name, int bytes) {
        MethodVisitor code = writer.visitMethod(Opcodes.ACC_PUBLIC, "apply", "(I)Ljava/lang/Object;", null, null);
        Label[] kinds = new Label[FIELDS];
        Arrays.setAll(kinds, kind -> new Label());
        Label fields = new Label();
        code.visitVarInsn(Opcodes.ILOAD, 1);
        code.visitTableSwitchInsn(BYTES, FIELDS - 1, fields, kinds);
        for (int kind = BYTES; kind < FIELDS; kind++) {
            code.visitLabel(kinds[kind]);
            code.visitLdcInsn(length(kind, bytes));
            if (kind == OBJECTS) {
                code.visitTypeInsn(Opcodes.ANEWARRAY, "java/lang/Object");
            } else {
                int type = kind == INTS ? Opcodes.T_INT : kind == LONGS ? Opcodes.T_LONG : Opcodes.T_BYTE;
                code.visitIntInsn(Opcodes.NEWARRAY, type);
            }
            code.visitInsn(Opcodes.ARETURN);
        }
        code.visitLabel(fields);
        code.visitTypeInsn(Opcodes.NEW, name);
        code.visitInsn(Opcodes.DUP);
        code.visitMethodInsn(Opcodes.INVOKESPECIAL, name, "<init>", "()V", false);
        end(code, Opcodes.ARETURN);
    }

    private static void end(MethodVisitor code, int instruction) {
        code.visitInsn(instruction);
        code.visitMaxs(0, 0);
        code.visitEnd();
    }
}
