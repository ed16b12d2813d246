// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Runtime's memory sizes keep to -Xms and -Xmx and to each other, while the heap is filled and emptied.
 * @library /lib
 * @run main/othervm -Xms16m -Xmx96m HeapSizes 16 96
 * @run main/othervm -Xms64m -Xmx64m HeapSizes 64 64
 */

import heap.Check;
import heap.Heap;
import java.util.ArrayList;
import java.util.List;

public class HeapSizes {
    private static final int HOG_MIB = 20;

    public static void main(String[] args) {
        long initial = Long.parseLong(args[0]) * Heap.MIB;
        long max = Long.parseLong(args[1]) * Heap.MIB;
        check(initial, max);
        System.gc();
        long usedBefore = used();
        List<byte[]> hog = hog();
        check(initial, max);
        System.gc();
        long hogged = used() - usedBefore;
        Check.that(hogged >= HOG_MIB * (long) Heap.MIB, HOG_MIB + " MiB of arrays need " + hogged + " bytes");
        Check.that(hogged <= HOG_MIB * (long) Heap.MIB * 3 / 2, HOG_MIB + " MiB of arrays need no more than half as much again: " + hogged);
        Check.equal(HOG_MIB * 8, hog.size(), "arrays");
        hog.clear();
        System.gc();
        Check.that(used() - usedBefore < 4 * Heap.MIB, "and are given back: " + (used() - usedBefore) + " bytes more are used than before");
        check(initial, max);
        for (int i = 0; i < 50; i++) {
            Heap.churn(4 * Heap.MIB);
            check(initial, max);
        }
    }

    private static long used() {
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private static List<byte[]> hog() {
        List<byte[]> hog = new ArrayList<>();
        for (int i = 0; i < HOG_MIB * 8; i++) {
            hog.add(new byte[Heap.MIB / 8]);
        }
        return hog;
    }

    private static void check(long initial, long max) {
        Runtime runtime = Runtime.getRuntime();
        long total = runtime.totalMemory();
        long free = runtime.freeMemory();
        // Collectors with generations do not count a part of the young one.
        Check.that(runtime.maxMemory() <= max && runtime.maxMemory() >= max / 4 * 3, "maxMemory is " + runtime.maxMemory());
        Check.that(total <= runtime.maxMemory(), "totalMemory is " + total);
        Check.that(total >= Math.min(initial / 4 * 3, max / 4 * 3), "totalMemory is " + total);
        Check.that(free >= 0 && free <= total, "freeMemory is " + free + " of " + total);
    }
}
