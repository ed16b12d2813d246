// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Objects of every small size, allocated by the interpreter and by compiled code, are zero, disjoint, and keep their contents.
 * @library /lib
 * @run main/othervm -Xmx16m -Xint AllSizes
 * @run main/othervm -Xmx16m -XX:TieredStopAtLevel=1 -Xbatch AllSizes
 * @run main/othervm -Xmx16m -XX:-TieredCompilation -Xbatch AllSizes
 * @run main/othervm -Xmx16m -XX:-TieredCompilation -Xbatch -XX:AllocatePrefetchStyle=3 AllSizes
 * @run main/othervm -Xmx16m -XX:+UseCompressedOops -Xcomp AllSizes
 * @run main/othervm -Xmx16m -XX:-UseCompressedOops AllSizes
 */

import heap.Check;
import heap.Heap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;

public class AllSizes {
    /** Beyond the size up to which allocation is inline, and by steps beyond that of small objects. */
    private static final int MAX_LENGTH = 1_300;
    private static final int ROUNDS = 12;

    private static final class Small {
        long a;
    }

    private static final class Medium {
        long a, b, c, d, e, f, g, h, i, j, k, l;
    }

    private record Kept(byte[] bytes, long[] longs, Object[] objects, Small small, Medium medium, byte stamp) {}

    public static void main(String[] args) {
        List<Kept> kept = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            for (int length = 0; length < MAX_LENGTH; length++) {
                Kept next = allocate(length, (byte) (round * 31 + length));
                // Some survive, so that later lists have holes.
                if (length % 7 == round % 7) {
                    kept.add(next);
                }
            }
            Heap.churn(16 * Heap.MIB);
            check(kept);
            kept.subList(0, kept.size() / 2).clear();
        }
        constants();
        Check.that(Heap.collections() >= ROUNDS, "collections ran meanwhile: " + Heap.collections());
    }

    private static Kept allocate(int length, byte stamp) {
        byte[] bytes = new byte[length];
        long[] longs = new long[length / 8];
        Object[] objects = new Object[length / 4];
        Small small = new Small();
        Medium medium = new Medium();
        Check.equal(-1, other(bytes, (byte) 0), "the first byte that is not zero in a new array of " + length);
        Check.equal(-1, other(longs, 0), "the first element that is not zero of a new long[" + longs.length + "]");
        Check.equal(-1, other(objects, null), "the first element that is not null of a new Object[" + objects.length + "]");
        Check.that(small.a == 0 && medium.a == 0 && medium.l == 0, "fields of new objects are zero");
        Arrays.fill(bytes, stamp);
        Arrays.fill(longs, stamp);
        Arrays.fill(objects, bytes);
        small.a = stamp;
        medium.a = medium.f = medium.l = stamp;
        return new Kept(bytes, longs, objects, small, medium, stamp);
    }

    private static void check(List<Kept> kept) {
        for (Kept each : kept) {
            byte stamp = each.stamp;
            Check.equal(-1, other(each.bytes, stamp), "the first byte of " + each.bytes.length + " that has changed");
            Check.equal(-1, other(each.longs, stamp), "the first long of " + each.longs.length + " that has changed");
            Check.equal(-1, other(each.objects, each.bytes), "the first reference of " + each.objects.length + " that has changed");
            Check.that(each.small.a == stamp && each.medium.f == stamp && each.medium.l == stamp, "a field has changed");
        }
    }

    /** The first place with another value, or -1. */
    private static int other(byte[] array, byte value) {
        for (int i = 0; i < array.length; i++) {
            if (array[i] != value) {
                return i;
            }
        }
        return -1;
    }

    private static int other(long[] array, long value) {
        for (int i = 0; i < array.length; i++) {
            if (array[i] != value) {
                return i;
            }
        }
        return -1;
    }

    private static int other(Object[] array, Object value) {
        for (int i = 0; i < array.length; i++) {
            if (array[i] != value) {
                return i;
            }
        }
        return -1;
    }

    /** Sizes that the compiler knows: around the limits of the first classes, of inline allocation, and of small objects. */
    private static void constants() {
        for (int i = 0; i < 20_000; i++) {
            List<IntFunction<byte[]>> makers = List.of(
                    n -> new byte[0], n -> new byte[1], n -> new byte[8], n -> new byte[48], n -> new byte[49], n -> new byte[112],
                    n -> new byte[1000], n -> new byte[1008], n -> new byte[1009], n -> new byte[4080], n -> new byte[4096]);
            byte[] made = makers.get(i % makers.size()).apply(i);
            Check.equal(-1, other(made, (byte) 0), "the first byte that is not zero in a new array of " + made.length);
            Arrays.fill(made, (byte) i);
        }
    }
}
