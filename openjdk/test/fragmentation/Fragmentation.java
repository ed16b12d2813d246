// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Dead pages serve objects of any size: a program runs out of memory only where the heap is charged in full, whatever lived and died before.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/othervm/timeout=300 -Xmx64m Fragmentation small
 * @run main/othervm/timeout=300 -Xmx64m Fragmentation large
 * @run main/othervm/timeout=300 -Xmx64m -XX:-UseCompressedOops Fragmentation small
 * @run main/othervm/timeout=300 -Xmx64m -XX:-UseCompressedOops Fragmentation large
 * @run main/othervm/timeout=300 -Xmx1g Fragmentation small
 * @run main/othervm/timeout=300 -Xmx1g Fragmentation large
 * @run main/othervm/timeout=300 -Xmx1g -XX:-UseCompressedOops Fragmentation small
 * @run main/othervm/timeout=300 -Xmx1g -XX:-UseCompressedOops Fragmentation large
 * @run main/othervm/timeout=300 -Xmx1g Fragmentation gaps
 * @run main/othervm/timeout=300 -Xmx1g -XX:-UseCompressedOops Fragmentation gaps
 * @run main/othervm/timeout=300 -Xmx2g Fragmentation large
 * @run main/othervm/timeout=300 -Xmx2g -XX:-UseCompressedOops Fragmentation large
 * @run main/othervm/timeout=300 -Xmx2g Fragmentation small 400
 * @run main/othervm/timeout=300 -Xmx2g -XX:-UseCompressedOops Fragmentation small 400
 * @run main/othervm/timeout=300 -Xmx16g Fragmentation small 100
 * @run main/othervm/timeout=300 -Xmx16g -XX:-UseCompressedOops Fragmentation small 100
 * @run main/othervm/timeout=300 -Xmx31g Fragmentation small 100
 * @run main/othervm/timeout=300 -Xmx31g -XX:-UseCompressedOops Fragmentation small 100
 */

import heap.Check;
import heap.Heap;
import heap.Threads;
import java.util.ArrayList;
import java.util.List;

public class Fragmentation {
    private static final int[] SIZES = {24, 40, 56, 80, 112, 144, 200, 264, 400, 600, 900};
    private static final int PAGE = 4096;
    private static final int BLOCK = 64 << 10;
    private static final int CHUNK = 4 << 20;
    private static final int RESERVE = 256 << 10;
    private static final long MAX = Runtime.getRuntime().maxMemory();

    /** Bytes that live at most. */
    private static long reach = MAX;
    /** Bytes of the object that was asked for last. */
    private static volatile int asked;
    /** What is given up when memory has run out, as it takes some to say so. */
    private static byte[] reserve;
    private static int fulls;

    /** Arguments: "small", "large" or "gaps", and the MiB that live at most, if the heap is not to be filled. */
    public static void main(String[] args) throws Exception {
        if (args.length > 1) {
            reach = Math.min(MAX, Long.parseLong(args[1]) * Heap.MIB);
        }
        System.out.println(describe(0, 0, 0));
        if (args[0].equals("large")) {
            run("large objects that rise", Fragmentation::risingLarge);
            return;
        }
        if (args[0].equals("gaps")) {
            run("wide gaps", Fragmentation::wideGaps);
            return;
        }
        run("one object a block", Fragmentation::oneInEachBlock);
        run("one object a page", Fragmentation::oneInEachPage);
        run("large objects between small ones", Fragmentation::largeBetweenSmall);
        run("sizes that rise and fall", Fragmentation::riseAndFall);
        run("threads that come and go", Fragmentation::threads);
    }

    private interface Scenario {
        void run() throws Exception;
    }

    private static void run(String name, Scenario scenario) throws Exception {
        long collections = Heap.collections();
        long start = System.nanoTime();
        fulls = 0;
        try {
            scenario.run();
        } catch (OutOfMemoryError full) {
            checkFull();
        }
        long seconds = (System.nanoTime() - start) / 1_000_000_000;
        System.out.println(name + ": " + fulls + " times full, " + (Heap.collections() - collections) + " collections, " + seconds + " s");
        if (reach == MAX) {
            Check.that(fulls > 0, "memory did not run out");
            return;
        }
        Heap.collect(Heap.pausesOfCollection());
        long used = used();
        Check.that(used < reach / 4, used + " bytes in use after " + name + ", of which none live");
    }

    private static long used() {
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    /** Called at once when memory has run out. What was asked for may be larger than the 3 % that may be free. */
    private static void checkFull() {
        long used = used();
        int wanted = asked;
        reserve = null;
        fulls++;
        long percent = (used + wanted) * 100 / MAX;
        String what = describe(used, wanted, percent);
        System.out.println(what);
        Check.that(percent >= 97, what);
    }

    private static String describe(long used, int wanted, long percent) {
        return "out of memory with " + used + " of " + MAX + " bytes in use, where " + wanted + " were asked for: " + percent + " %";
    }

    /** Objects in segments, as one array for all of them would be the largest object by far. */
    private static final class Objects {
        private static final int SEGMENT = 500;

        private final List<byte[][]> segments = new ArrayList<>();
        private int count;
        private long bytes;

        void add(byte[] object) {
            if (count % SEGMENT == 0) {
                segments.add(new byte[SEGMENT][]);
            }
            segments.get(count / SEGMENT)[count % SEGMENT] = object;
            count++;
            // With the reference.
            bytes += object.length + 24;
        }

        /** Keeps one of {@code apart} objects. */
        void keepOneOf(int apart) {
            for (int i = 0; i < count; i++) {
                if (i % apart != apart - 1) {
                    byte[][] segment = segments.get(i / SEGMENT);
                    bytes -= segment[i % SEGMENT].length + 24;
                    segment[i % SEGMENT] = null;
                }
            }
        }

        void clear() {
            segments.clear();
            count = 0;
            bytes = 0;
        }
    }

    private static long bytes(List<Objects> all) {
        return all.stream().mapToLong(objects -> objects.bytes).sum();
    }

    /** An array of {@code bytes}, about. */
    private static byte[] object(int bytes) {
        asked = bytes;
        return new byte[bytes - 16];
    }

    /** Allocates objects of one size, 60 % of the heap, and keeps one for each {@code apart} bytes of them. */
    private static void wave(int size, int apart, Objects kept) {
        reserve = new byte[RESERVE];
        Objects all = new Objects();
        long since = apart;
        while (all.bytes < reach / 10 * 6) {
            byte[] object = object(size);
            all.add(object);
            since += size;
            if (since >= apart) {
                kept.add(object);
                since = 0;
            }
        }
    }

    /** Fills the heap with objects of one size, beside others that have so many bytes. */
    private static Objects fill(int size, long others) {
        reserve = new byte[RESERVE];
        Objects all = new Objects();
        try {
            while (reach == MAX || others + all.bytes < reach) {
                all.add(object(size));
            }
        } catch (OutOfMemoryError full) {
            checkFull();
        }
        return all;
    }

    /** Keeps a few objects of each size. */
    private static void oneInEachBlock() {
        Objects kept = new Objects();
        for (int size : SIZES) {
            wave(size, BLOCK, kept);
        }
        fill(600, kept.bytes);
    }

    /** What is kept of a size fills more than half of the heap. */
    private static void oneInEachPage() {
        Objects kept = new Objects();
        for (int i = 0; i < SIZES.length; i += 5) {
            kept.clear();
            wave(SIZES[i], PAGE, kept);
        }
        fill(5000, kept.bytes);
    }

    /** The pages between survivors have to serve large objects, and those of large objects small ones. */
    private static void largeBetweenSmall() {
        Objects small = new Objects();
        List<Objects> large = new ArrayList<>();
        for (int round = 0; round < 3; round++) {
            wave(56, 16 * BLOCK, small);
            large.clear();
            for (int size = 70_000; size < 1_400_000; size += 133_000) {
                large.add(new Objects());
                while (large.get(large.size() - 1).bytes < reach / 40) {
                    large.get(large.size() - 1).add(object(size));
                }
            }
        }
        large.forEach(objects -> objects.keepOneOf(2));
        fill(100_000, small.bytes + bytes(large));
    }

    private static void riseAndFall() {
        Objects kept = new Objects();
        for (int step = -6; step <= 6; step += 2) {
            if (step == 0) {
                kept.clear();
            }
            wave(3000 - 450 * Math.abs(step), BLOCK, kept);
        }
        fill(24, kept.bytes);
    }

    /** What a thread leaves serves the next. */
    private static void threads() throws Exception {
        Objects kept = new Objects();
        for (int round = 0; round < 2 * SIZES.length; round++) {
            int size = SIZES[round % SIZES.length];
            Threads.run(1, number -> {
                for (long bytes = 0; bytes < reach / 20; bytes += size) {
                    byte[] object = object(size);
                    if (bytes % BLOCK < size) {
                        kept.add(object);
                    }
                }
            });
        }
        fill(40_000, kept.bytes);
    }

    /** The gaps between survivors are too short for the next arrays. */
    private static void risingLarge() {
        List<Objects> kept = new ArrayList<>();
        for (int quarters = 4; quarters <= 8; quarters++) {
            Objects filled = fill(quarters * Heap.MIB / 4, bytes(kept));
            filled.keepOneOf(2);
            kept.add(filled);
        }
    }

    /**
     * Few objects live, far apart, and the next ones are larger than all gaps between them. Of the first, one alone lies in each chunk.
     * Three times as many addresses as the heap has bytes are used up when three fifths of it are in use.
     */
    private static void wideGaps() {
        Objects first = fill(CHUNK / 2 + BLOCK, 0);
        first.keepOneOf(8);
        Objects second = fill(8 * CHUNK, first.bytes);
        second.keepOneOf(4);
        fill(25 * CHUNK, first.bytes + second.bytes);
    }
}
