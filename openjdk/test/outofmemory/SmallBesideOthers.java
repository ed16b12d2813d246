// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Where each page has a live object, an object of another size ends in OutOfMemoryError soon, also where another thread goes on to
 *          find cells for its own.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main/othervm -Xms16m -Xmx16m -XX:-UseGCOverheadLimit SmallBesideOthers
 */

import heap.Check;
import heap.Heap;
import java.util.Arrays;

public class SmallBesideOthers {
    /** More objects than the heap has room for. */
    private static final int MOST = 1 << 20;
    private static final int LARGER_BYTES = 2000;
    private static final int REQUESTS = 5;

    /**
     * Collections for each refusal: to fill the heap, to unload classes, to throw soft references away, and those that the other thread asks for
     * meanwhile, which are the more the later the processor comes back to this one. Without an end they are thousands.
     */
    private static final int MAX_COLLECTIONS = 400;

    static volatile Object sink;
    static volatile boolean isFull;

    public static void main(String[] args) {
        Object[] small = new Object[MOST];
        Object[] larger = new Object[16 * Heap.MIB / LARGER_BYTES];
        Thread other = new Thread(() -> {
            while (true) {
                if (isFull) {
                    sink = new byte[1];
                }
            }
        });
        other.setDaemon(true);
        other.start();
        fill(small);
        for (int i = 0; i < MOST; i += 2) {
            small[i] = null;
        }
        isFull = true;
        for (int i = 0; i < REQUESTS; i++) {
            refuse(larger);
        }
        Check.that(small[1] != null, "the others are alive");
    }

    /** Leaves a MiB in which there is nothing. */
    private static void fill(Object[] small) {
        sink = new byte[Heap.MIB];
        try {
            for (int i = 0; i < MOST; i++) {
                small[i] = new byte[1];
            }
        } catch (OutOfMemoryError e) {
            sink = null;
            return;
        }
        throw new AssertionError("there is no room for so many");
    }

    private static void refuse(Object[] larger) {
        long before = Heap.collections();
        try {
            for (int i = 0; i < larger.length; i++) {
                larger[i] = new byte[LARGER_BYTES];
            }
        } catch (OutOfMemoryError e) {
            Arrays.fill(larger, null);
            long collections = Heap.collections() - before;
            Check.that(collections <= MAX_COLLECTIONS, "they have cost " + collections + " collections");
            return;
        }
        throw new AssertionError("there is no room for so many");
    }
}
