// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Loops that the compiler turns into moving pointers into arrays go on in the right place after a collection.
 * @library /lib
 * @run main/othervm -Xmx128m DerivedPointers
 * @run main/othervm -Xmx128m -XX:-TieredCompilation -Xbatch DerivedPointers
 * @run main/othervm -Xmx128m -XX:-TieredCompilation -Xbatch -XX:-UseCountedLoopSafepoints -XX:LoopUnrollLimit=0 DerivedPointers
 */

import heap.Check;
import heap.Heap;
import java.util.concurrent.TimeUnit;

public class DerivedPointers {
    private static final int LENGTH = 4096;

    private static int[] small;

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(4);
        try (Heap.Collector collector = new Heap.Collector()) {
            for (int round = 0; round < 20 || System.nanoTime() < end; round++) {
                ints(new int[LENGTH], new int[LENGTH], round);
                grid(new long[64][64], round);
                objects(new Object[LENGTH], round);
            }
        }
    }

    /** The allocation in the loop is a safepoint at which addresses within both arrays are live. */
    private static void ints(int[] from, int[] to, int round) {
        for (int i = 0; i < LENGTH; i++) {
            from[i] = i ^ round;
        }
        for (int i = 0; i < LENGTH - 1; i++) {
            small = new int[] {from[i + 1]};
            to[i] = small[0] + from[i];
            to[LENGTH - 1] += from[i];
        }
        int sum = 0;
        for (int i = 0; i < LENGTH - 1; i++) {
            Check.that(to[i] == (i ^ round) + (i + 1 ^ round), "element " + i + " of the int array");
            sum += i ^ round;
        }
        Check.equal(sum, to[LENGTH - 1], "the sum in the last element");
    }

    private static void grid(long[][] grid, int round) {
        for (int i = 0; i < grid.length; i++) {
            long[] row = grid[i];
            for (int j = 0; j < row.length; j++) {
                row[j] = ((long) i << 32) + j + new int[] {round, i, j}[0];
            }
        }
        for (int i = 0; i < grid.length; i++) {
            for (int j = 0; j < grid[i].length; j++) {
                Check.that(grid[i][j] == ((long) i << 32) + j + round, "an element of the grid");
            }
        }
    }

    private static void objects(Object[] array, int round) {
        for (int i = 0; i < array.length; i++) {
            array[i] = new int[] {i + round};
            array[array.length - 1 - i / 2] = array[i / 2];
        }
        for (int i = 0; i < array.length / 2; i++) {
            Check.equal(i + round, ((int[]) array[i])[0], "an object in the array");
        }
    }
}
