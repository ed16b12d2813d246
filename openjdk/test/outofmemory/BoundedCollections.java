// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A heap that is full to the brim ends in OutOfMemoryError after few more collections, not in a collection for each allocation.
 * @library /lib
 * @run main/othervm -Xms32m -Xmx32m BoundedCollections
 * @run main/othervm -Xms32m -Xmx32m -XX:+UnlockDiagnosticVMOptions -XX:-ThirdPartyHeapInlineAllocation BoundedCollections
 */

import heap.Check;
import heap.Heap;
import java.util.ArrayList;
import java.util.List;

public class BoundedCollections {
    /** To fill the heap, throw soft references away, and be sure: a few collections; each collector has its own number. */
    private static final int MAX_COLLECTIONS = 40;

    /** Collections for each refusal when the heap is full. */
    private static final int MAX_PER_ERROR = 6;
    private static final int ERRORS = 20;

    public static void main(String[] args) {
        List<Object> hog = new ArrayList<>(1 << 20);
        long before = Heap.collections();
        fill(hog);
        long filling = Heap.collections() - before;
        before = Heap.collections();
        int errors = 0;
        for (int i = 0; i < ERRORS; i++) {
            try {
                hog.add(new byte[4 * Heap.MIB]);
            } catch (OutOfMemoryError e) {
                errors++;
            }
        }
        long collections = Heap.collections() - before;
        hog.clear();
        Check.that(filling <= MAX_COLLECTIONS, "collections until the first OutOfMemoryError: " + filling);
        Check.equal(ERRORS, errors, "requests of 4 MiB that a full heap has refused");
        Check.that(collections <= ERRORS * MAX_PER_ERROR, "collections for " + ERRORS + " refused requests: " + collections);
    }

    private static void fill(List<Object> hog) {
        try {
            while (true) {
                hog.add(new byte[1000]);
            }
        } catch (OutOfMemoryError e) {
            // Full. The test needs a little room itself, to count.
            for (int i = 0; i < 1000; i++) {
                hog.remove(hog.size() - 1);
            }
        }
    }
}
