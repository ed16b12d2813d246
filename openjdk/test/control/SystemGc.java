// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary System.gc collects once, and -XX:+DisableExplicitGC turns that off.
 * @library /lib
 * @run main/othervm -Xmx64m SystemGc 1
 * @run main/othervm -Xmx64m -XX:+DisableExplicitGC SystemGc 0
 */

import heap.Check;
import heap.Heap;
import java.lang.ref.WeakReference;

public class SystemGc {
    private static final int TIMES = 10;

    public static void main(String[] args) {
        int perCall = Integer.parseInt(args[0]);
        WeakReference<Object> weak = new WeakReference<>(new Object());
        long before = Heap.collections();
        for (int i = 0; i < TIMES; i++) {
            System.gc();
        }
        Runtime.getRuntime().gc();
        long collections = Heap.collections() - before;
        // Collectors with generations may count a young and an old collection for one call.
        Check.that(collections == 0 && perCall == 0 || collections >= (TIMES + 1) * perCall && perCall == 1
                && collections <= 2 * (TIMES + 1), "collections for " + (TIMES + 1) + " calls: " + collections);
        Check.equal(perCall == 1, weak.get() == null, "a weak reference to a dead object is cleared");
    }
}
