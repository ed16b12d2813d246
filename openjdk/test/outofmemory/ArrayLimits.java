// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Arrays that are too large end in OutOfMemoryError, soon and with the right message, up to the limits of the language; those that fit are given.
 * @library /lib
 * @run main/othervm -Xmx64m ArrayLimits
 * @run main/othervm -Xmx64m -Xint ArrayLimits
 * @run main/othervm -Xmx64m -XX:-UseCompressedOops ArrayLimits
 */

import heap.Check;
import heap.Heap;
import java.lang.reflect.Array;
import java.util.List;

public class ArrayLimits {
    private static final String NO_ROOM = "Java heap space";
    private static final String BEYOND_LIMIT = "Requested array size exceeds VM limit";

    /** No request for a single array may cost more collections than this. */
    private static final int MAX_COLLECTIONS = 10;

    public static void main(String[] args) {
        List<Class<?>> types = List.of(boolean.class, byte.class, short.class, char.class, int.class, float.class,
                long.class, double.class, Object.class, String[].class);
        for (Class<?> type : types) {
            fails(type, Integer.MAX_VALUE, BEYOND_LIMIT);
            // Whether this is one too many depends on the size of an array's header.
            fails(type, Integer.MAX_VALUE - 1, NO_ROOM, BEYOND_LIMIT);
            fails(type, Integer.MAX_VALUE - 2, NO_ROOM);
            fails(type, Integer.MAX_VALUE / 8, NO_ROOM);
            fails(type, 65 * Heap.MIB, NO_ROOM);
            fits(type);
        }
        negative();
        dimensions();
    }

    private static void fails(Class<?> type, int length, String... messages) {
        long before = Heap.collections();
        try {
            Object array = Array.newInstance(type, length);
            throw new AssertionError("there is no room for " + type + "[" + Array.getLength(array) + "]");
        } catch (OutOfMemoryError e) {
            String what = type + "[" + length + "]";
            Check.that(List.of(messages).contains(e.getMessage()), what + ": message '" + e.getMessage() + "'");
            long collections = Heap.collections() - before;
            Check.that(collections <= MAX_COLLECTIONS, what + " has cost " + collections + " collections");
        }
    }

    private static void fits(Class<?> type) {
        Object array = Array.newInstance(type, 100_000);
        Check.equal(100_000, Array.getLength(array), "the length of an array that fits");
        System.gc();
        Check.equal(Array.get(Array.newInstance(type, 1), 0), Array.get(array, 99_999), "its last element");
    }

    private static void negative() {
        try {
            Object array = Array.newInstance(long.class, -1);
            throw new AssertionError("an array of length -1: " + array);
        } catch (NegativeArraySizeException e) {
            Check.equal("-1", e.getMessage(), "the message");
        }
    }

    private static void dimensions() {
        try {
            long[][] grid = new long[100_000][100_000];
            throw new AssertionError("an array of 80 GB: " + grid.length);
        } catch (OutOfMemoryError e) {
            Check.equal(NO_ROOM, e.getMessage(), "the message for an array of arrays");
        }
        byte[][] grid = new byte[1000][1000];
        Check.equal(1000, grid[999].length, "a row of an array of arrays");
    }
}
