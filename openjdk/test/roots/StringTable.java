// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Interned strings stay the same object while they live, and do not fill the heap when they are dead.
 * @library /lib
 * @run main/othervm -Xmx32m StringTable
 */

import heap.Check;
import heap.Heap;

public class StringTable {
    private static final int LIVE = 20_000;
    private static final int DEAD = 1_000_000;

    public static void main(String[] args) {
        String[] live = new String[LIVE];
        for (int i = 0; i < LIVE; i++) {
            live[i] = text("live", i).intern();
        }
        // Some 70 MiB of strings, in a heap of 32 MiB.
        for (int i = 0; i < DEAD; i++) {
            text("dead", i).intern();
        }
        Heap.collect(2);
        for (int i = 0; i < LIVE; i++) {
            String again = text("live", i);
            Check.that(again != live[i], "a new string is a new object");
            Check.equal(again, live[i], "an interned string");
            Check.same(live[i], again.intern(), "an interned string");
        }
        Check.same("constant", text("cons", -1).intern(), "a constant of this class");
    }

    private static String text(String prefix, int i) {
        return new StringBuilder(prefix).append(i < 0 ? "tant" : Integer.toString(i)).toString();
    }
}
