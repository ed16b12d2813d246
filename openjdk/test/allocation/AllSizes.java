// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Objects of every small size, allocated by the interpreter and by compiled code, are zero, disjoint, and keep their contents.
 * @library /lib
 * @run main/othervm -Xmx48m -Xint AllSizes
 * @run main/othervm -Xmx48m -XX:TieredStopAtLevel=1 -Xbatch AllSizes
 * @run main/othervm -Xmx48m -XX:-TieredCompilation -Xbatch AllSizes
 * @run main/othervm -Xmx48m -XX:+UseCompressedOops -Xcomp AllSizes
 * @run main/othervm -Xmx48m -XX:-UseCompressedOops AllSizes
 */

import heap.Check;
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
            check(kept);
            kept.subList(0, kept.size() / 2).clear();
        }
        constants();
    }

    private static Kept allocate(int length, byte stamp) {
        byte[] bytes = new byte[length];
        long[] longs = new long[length / 8];
        Object[] objects = new Object[length / 4];
        Small small = new Small();
        Medium medium = new Medium();
        for (byte each : bytes) {
            Check.equal((byte) 0, each, "a byte of a new array of " + length);
        }
        for (long each : longs) {
            Check.that(each == 0, "an element of a new long[" + longs.length + "] is " + each);
        }
        for (Object each : objects) {
            Check.that(each == null, "an element of a new Object[" + objects.length + "] is not null");
        }
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
            for (byte found : each.bytes) {
                Check.that(found == stamp, "a byte of " + each.bytes.length + " has become " + found);
            }
            for (long found : each.longs) {
                Check.that(found == stamp, "a long of " + each.longs.length + " has become " + found);
            }
            for (Object found : each.objects) {
                Check.same(each.bytes, found, "an element of " + each.objects.length);
            }
            Check.that(each.small.a == stamp && each.medium.f == stamp && each.medium.l == stamp, "a field has changed");
        }
    }

    /** Sizes that the compiler knows: around the limits of the first classes, of inline allocation, and of small objects. */
    private static void constants() {
        for (int i = 0; i < 20_000; i++) {
            List<IntFunction<byte[]>> makers = List.of(
                    n -> new byte[0], n -> new byte[1], n -> new byte[8], n -> new byte[48], n -> new byte[49], n -> new byte[112],
                    n -> new byte[1000], n -> new byte[1008], n -> new byte[1009], n -> new byte[4080], n -> new byte[4096]);
            byte[] made = makers.get(i % makers.size()).apply(i);
            for (byte each : made) {
                Check.that(each == 0, "a byte of a new array of " + made.length + " is " + each);
            }
            Arrays.fill(made, (byte) i);
        }
    }
}
