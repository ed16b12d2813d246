// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A program catches OutOfMemoryError again and again, for small objects, large arrays and both, and then has its whole heap back.
 * @library /lib
 * @run main/othervm -Xmx32m SurviveOutOfMemory
 * @run main/othervm -Xmx32m -Xint SurviveOutOfMemory
 */

import heap.Check;
import heap.Heap;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

public class SurviveOutOfMemory {
    private static final int TIMES = 4;

    /** A part of the heap that every collector gives in one piece. */
    private static final int PIECE = 4 * Heap.MIB;

    public static void main(String[] args) {
        int[] witness = {42};
        for (int time = 0; time < TIMES; time++) {
            fill("small objects", i -> new int[] {i});
            fill("large arrays", i -> new byte[300_000]);
            fill("references", i -> new Object[10_000]);
            fill("objects of all sizes", i -> new byte[i * 7919 % 100_000]);
            Check.equal(PIECE, new byte[PIECE].length, "a large array after an OutOfMemoryError");
            Check.equal(42, witness[0], "an object from before");
        }
    }

    private static void fill(String what, IntFunction<Object> make) {
        Object[] last = null;
        int links = 0;
        OutOfMemoryError error = null;
        try {
            for (int i = 0;; i++) {
                last = new Object[] {last, make.apply(i)};
                links++;
            }
        } catch (OutOfMemoryError e) {
            error = e;
        }
        int found = 0;
        while (last != null) {
            found++;
            last = (Object[]) last[0];
        }
        Check.equal(links, found, "links of the list of " + what + " that has filled the heap");
        Check.matches(Heap.FULL, error.getMessage(), "the message of the error");
        List<Object> works = new ArrayList<>(List.of("an allocation at once"));
        Check.equal(1, works.size(), "a small list");
    }
}
