// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Dead pages serve objects of any size: a program runs out of memory only where the heap is charged in full, whatever lived and died before.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/othervm/timeout=300 -Xmx64m Fragmentation
 * @run main/othervm/timeout=300 -Xmx64m -XX:-UseCompressedOops Fragmentation
 * @run main/othervm/timeout=300 -Xmx1g Fragmentation
 * @run main/othervm/timeout=300 -Xmx2g Fragmentation
 * @run main/othervm/timeout=300 -Xmx2g -XX:-UseCompressedOops Fragmentation
 * @run main/othervm/timeout=300 -Xmx16g Fragmentation
 * @run main/othervm/timeout=300 -Xmx31g Fragmentation
 * @run main/othervm/timeout=300 -Xmx31g -XX:-UseCompressedOops Fragmentation
 */

import heap.Check;
import heap.Heap;
import java.util.ArrayList;
import java.util.List;

public class Fragmentation {
    private static final int[] SIZES = {24, 40, 56, 80, 112, 144, 200, 264, 400, 600, 900};
    private static final int PAGE = 4096;
    private static final int BLOCK = 64 << 10;
    private static final int SEGMENT = 500;
    private static final long MAX = Runtime.getRuntime().maxMemory();
    /**
     * Bytes of a wave: with the page of each survivor of the waves before, it fills the heap nearly. The largest heaps are not
     * filled: the test has to run on small machines.
     */
    private static final long WAVE = Math.min(MAX / 2, 400L * Heap.MIB);

    public static void main(String[] args) throws Exception {
        run("one object a block", () -> sizesInTurn(BLOCK));
        run("one object a page", () -> sizesInTurn(PAGE));
        run("large objects between small ones", Fragmentation::largeBetweenSmall);
        run("sizes that rise and fall", Fragmentation::riseAndFall);
        run("threads that come and go", Fragmentation::threads);
        if (MAX <= 64L * Heap.MIB) {
            run("full", Fragmentation::fill);
        }
    }

    private interface Scenario {
        void run() throws Exception;
    }

    private static void run(String name, Scenario scenario) throws Exception {
        long before = Heap.collections();
        scenario.run();
        System.out.println(name + ": " + (Heap.collections() - before) + " collections");
    }

    /** An array of {@code bytes}, about. */
    private static byte[] object(int bytes) {
        return new byte[bytes - 16];
    }

    /** Allocates a wave of objects of one size, and keeps one for each {@code apart} bytes of them. */
    private static void wave(int size, int apart, List<byte[]> kept) {
        byte[][] all = new byte[(int) (WAVE / (size + 8))][];
        long since = apart;
        for (int i = 0; i < all.length; i++) {
            all[i] = object(size);
            since += size;
            if (since >= apart) {
                kept.add(all[i]);
                since = 0;
            }
        }
        Check.that(all[all.length - 1].length == size - 16, "the last object of a wave");
    }

    /** Keeps a few objects of each size, far apart. */
    private static void sizesInTurn(int apart) {
        List<byte[]> kept = new ArrayList<>();
        for (int size : SIZES) {
            wave(size, apart, kept);
            if (apart < BLOCK) {
                kept.clear();
            }
        }
    }

    /** The pages between survivors have to serve large objects, and those of large objects small ones. */
    private static void largeBetweenSmall() {
        for (int round = 0; round < 3; round++) {
            List<byte[]> kept = new ArrayList<>();
            wave(56, 16 * BLOCK, kept);
            long room = WAVE / 3;
            for (int size = 70_000; size < 1_400_000; size += 133_000) {
                for (long bytes = 0; bytes < room / 10; bytes += size) {
                    kept.add(object(size));
                }
            }
            kept.removeIf(object -> object.length % 3 == 0);
        }
    }

    private static void riseAndFall() {
        List<byte[]> kept = new ArrayList<>();
        for (int step = -6; step <= 6; step++) {
            if (step % 3 == 0) {
                kept.clear();
            }
            wave(3000 - 450 * Math.abs(step), BLOCK, kept);
        }
    }

    /** What a thread leaves serves the next. */
    private static void threads() throws Exception {
        List<byte[]> kept = new ArrayList<>();
        for (int round = 0; round < 40; round++) {
            int size = SIZES[round % SIZES.length];
            Thread thread = new Thread(() -> {
                for (long bytes = 0; bytes < WAVE / 20; bytes += size) {
                    byte[] object = object(size);
                    if (bytes % BLOCK < size) {
                        kept.add(object);
                    }
                }
            });
            thread.start();
            thread.join();
        }
        Check.that(!kept.isEmpty(), "nothing was kept");
    }

    /** After all that, the heap can be filled. */
    private static void fill() {
        for (int size : new int[] {24, 600, 5000, 40_000, 100_000}) {
            List<byte[]> survivors = new ArrayList<>();
            wave(56, BLOCK, survivors);
            // In segments, as one array for all of them would be the largest object by far.
            List<byte[][]> segments = new ArrayList<>();
            long used = 0;
            int count = 0;
            try {
                for (;; count++) {
                    if (count % SEGMENT == 0) {
                        segments.add(new byte[SEGMENT][]);
                    }
                    segments.get(count / SEGMENT)[count % SEGMENT] = object(size);
                }
            } catch (OutOfMemoryError full) {
                used = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
            }
            segments.clear();
            long percent = used * 100 / MAX;
            Check.that(percent >= 97, "out of memory with " + percent + " % of the heap in use, after " + count + " objects of " + size);
        }
    }
}
