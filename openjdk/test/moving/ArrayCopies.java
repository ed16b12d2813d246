// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary arraycopy, clone and copyOf of small and large arrays of all kinds are right while collections run.
 * @library /lib
 * @run main/othervm -Xmx128m ArrayCopies
 * @run main/othervm -Xmx128m -Xint ArrayCopies
 * @run main/othervm -Xmx128m -XX:-TieredCompilation ArrayCopies
 */

import heap.Check;
import heap.Heap;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

public class ArrayCopies {
    private static final int[] LENGTHS = {0, 1, 7, 64, 1000, 20_000, 300_000};

    /** Clone of an object with fields of several kinds. */
    private static final class Point implements Cloneable {
        int x = 1;
        long y = 2;
        Object z = "three";

        @Override
        public Point clone() throws CloneNotSupportedException {
            return (Point) super.clone();
        }
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(3);
        try (Heap.Collector collector = new Heap.Collector()) {
            for (int round = 0; round == 0 || System.nanoTime() < end; round++) {
                for (int length : LENGTHS) {
                    objects(length);
                    numbers(length);
                }
                clones();
            }
        }
    }

    private static void objects(int length) {
        Object[] source = new Object[length];
        for (int i = 0; i < length; i++) {
            source[i] = i % 3 == 0 ? null : Integer.valueOf(i);
        }
        Object[] copy = source.clone();
        Object[] longer = Arrays.copyOf(source, length + 5);
        Integer[] checked = Arrays.copyOf(source, length, Integer[].class);
        // Overlapping, up and down.
        System.arraycopy(longer, 0, longer, 5, length);
        for (int i = 0; i < length; i++) {
            Check.that(longer[i + 5] == source[i], "what was copied up within an array, element", i);
        }
        System.arraycopy(longer, 5, longer, 0, length);
        for (int i = 0; i < length; i++) {
            Check.that(copy[i] == source[i] && longer[i] == source[i] && checked[i] == source[i], "a copy, element", i);
        }
        int right = length / 2;
        Arrays.fill(source, 0, right, "a string");
        Object[] strings = new String[length];
        boolean refused = false;
        try {
            System.arraycopy(source, 0, strings, 0, length);
        } catch (ArrayStoreException e) {
            refused = true;
        }
        Check.equal(length > 1, refused, "whether there is what a String[] does not take");
        for (int i = 0; i < length; i++) {
            // The first that is neither a string nor null ends the copy.
            Check.that(strings[i] == (i < right ? source[i] : null), "what a String[] has taken, element", i);
        }
    }

    private static void numbers(int length) {
        long[] longs = new long[length];
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            longs[i] = i * 0x9E3779B97F4A7C15L;
            bytes[i] = (byte) (i * 31);
        }
        long[] copy = longs.clone();
        byte[] range = Arrays.copyOfRange(bytes, length / 3, length);
        System.arraycopy(bytes, 0, bytes, length / 2, length - length / 2);
        for (int i = 0; i < length; i++) {
            Check.that(copy[i] == i * 0x9E3779B97F4A7C15L, "a long of a copy");
        }
        for (int i = 0; i < range.length; i++) {
            Check.that(range[i] == (byte) ((i + length / 3) * 31), "a byte of a copied range");
        }
        for (int i = length / 2; i < length; i++) {
            Check.that(bytes[i] == (byte) ((i - length / 2) * 31), "a byte that was copied within its array");
        }
    }

    private static void clones() throws CloneNotSupportedException {
        for (int i = 0; i < 1000; i++) {
            Point point = new Point();
            point.x = i;
            point.z = new int[] {i};
            Point copy = point.clone();
            Check.that(copy != point && copy.x == i && copy.y == 2 && copy.z == point.z, "a clone");
            int[][] grid = new int[10][10];
            grid[3][4] = i;
            int[][] shallow = grid.clone();
            Check.that(shallow[3] == grid[3] && shallow[3][4] == i, "a clone of an array of arrays");
        }
    }
}
