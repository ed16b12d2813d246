// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Soft references are kept while memory is plentiful, and are all cleared before an OutOfMemoryError.
 * @library /lib
 * @run main/othervm -Xmx64m SoftReferences
 * @run main/othervm -Xmx64m -Xint SoftReferences
 */

import heap.Check;
import heap.Heap;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.List;

public class SoftReferences {
    private static final int REFERENCES = 1000;

    private static Object sink;

    public static void main(String[] args) {
        List<SoftReference<int[]>> references = make(new ReferenceQueue<>());
        keptWhilePlentiful(references);
        clearedBeforeOutOfMemory(references);
        cacheDoesNotFillTheHeap();
    }

    private static List<SoftReference<int[]>> make(ReferenceQueue<Object> queue) {
        List<SoftReference<int[]>> references = new ArrayList<>();
        for (int i = 0; i < REFERENCES; i++) {
            references.add(new SoftReference<>(new int[] {i}, queue));
        }
        return references;
    }

    private static void keptWhilePlentiful(List<SoftReference<int[]>> references) {
        Heap.collect(3);
        for (int i = 0; i < REFERENCES; i++) {
            int[] content = references.get(i).get();
            Check.that(content != null, "a soft reference is kept while most of the heap is free");
            Check.equal(i, content[0], "what it refers to");
        }
    }

    private static void clearedBeforeOutOfMemory(List<SoftReference<int[]>> references) {
        boolean thrown = false;
        List<Object> hog = new ArrayList<>();
        try {
            while (true) {
                hog.add(new byte[64 << 10]);
            }
        } catch (OutOfMemoryError e) {
            hog = null;
            thrown = true;
        }
        Check.that(thrown, "an OutOfMemoryError was thrown");
        for (SoftReference<int[]> reference : references) {
            Check.that(reference.get() == null, "a soft reference outlived an OutOfMemoryError");
        }
    }

    /** Ten times the heap, all of it softly reachable. */
    private static void cacheDoesNotFillTheHeap() {
        List<SoftReference<byte[]>> cache = new ArrayList<>();
        for (int i = 0; i < 640; i++) {
            cache.add(new SoftReference<>(new byte[Heap.MIB]));
        }
        sink = cache.get(cache.size() - 1).get();
        Check.that(cache.stream().anyMatch(reference -> reference.get() == null), "some of a cache of ten heaps are cleared");
    }
}
