// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Copies between arrays, which a plan with partial collections takes note of, take no memory of their own, however many there are
 * without a collection between them.
 * @library /lib
 * @run main/othervm/timeout=400 -Xmx64m Copies
 */

import heap.Check;
import heap.Heap;
import heap.Smaps;
import java.io.IOException;
import java.util.List;
import java.util.Random;

public class Copies {
    private static final int COPIES = 20_000_000;
    private static final int ARRAYS = 20;
    private static final int LENGTH = 100;

    public static void main(String[] args) throws Exception {
        Object[][] arrays = new Object[ARRAYS][LENGTH];
        for (int i = 0; i < ARRAYS; i++) {
            for (int j = 0; j < LENGTH; j++) {
                arrays[i][j] = new Object();
            }
        }
        Heap.collect(2);
        copy(arrays, COPIES / 10);
        long before = resident();
        long collections = Heap.collections();
        copy(arrays, COPIES);
        long grown = resident() - before;
        System.out.println(grown + " bytes more are resident after " + (Heap.collections() - collections) + " collections");
        // A note of each would take 16 bytes.
        Check.that(grown < 16L * COPIES / 10, "memory does not grow by copies: " + grown);
    }

    private static long resident() throws IOException {
        return Smaps.sum("Rss", List.of(new long[] {0, Long.MAX_VALUE}));
    }

    /** Moves elements about as a list does that something is removed from. */
    private static void copy(Object[][] arrays, int copies) {
        Random random = new Random(1);
        for (int i = 0; i < copies; i++) {
            Object[] array = arrays[i % ARRAYS];
            int from = random.nextInt(LENGTH - 1);
            Object removed = array[from];
            System.arraycopy(array, from + 1, array, from, LENGTH - 1 - from);
            array[LENGTH - 1] = removed;
        }
    }
}
