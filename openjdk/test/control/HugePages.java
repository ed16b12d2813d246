// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary With -XX:+UseTransparentHugePages the kernel backs the heap with huge pages, by its own count; with - never.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/othervm -Xms256m -Xmx256m -XX:+UseTransparentHugePages HugePages on
 * @run main/othervm -Xms256m -Xmx256m -XX:-UseTransparentHugePages HugePages off
 */
/*
 * @test
 * @summary Unasked, our mark-sweep space has huge pages if its heap is no small one.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main/othervm -Xms256m -Xmx256m HugePages on
 * @run main/othervm -Xms39m -Xmx39m HugePages off 20000
 * @run main HugePages environment
 */
/*
 * @test
 * @summary Memory that went back to the OS between live objects comes back in huge pages, with the objects.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main/othervm -Xms256m -Xmx256m HugePages again
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.Smaps;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import jtreg.SkippedException;

public class HugePages {
    private static final Path SETTING = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
    private static final int LENGTH = 1000;

    public static void main(String[] args) throws Exception {
        if (!Files.exists(SETTING) || Files.readString(SETTING).contains("[never]")) {
            throw new SkippedException("this kernel never gives transparent huge pages");
        }
        if (List.of("off", "environment").contains(args[0]) && Files.readString(SETTING).contains("[always]")) {
            throw new SkippedException("this kernel gives transparent huge pages unasked");
        }
        if (args[0].equals("again")) {
            again();
            return;
        }
        if (args[0].equals("environment")) {
            Child.with("-Xms256m", "-Xmx256m").variable("JAVA_TOOL_OPTIONS", "-XX:-UseTransparentHugePages").main(HugePages.class, "off").mustExitCleanly(0);
            return;
        }
        int arrays = args.length > 1 ? Integer.parseInt(args[1]) : 100_000;
        List<byte[]> live = arrays(arrays);
        long huge = huge();
        System.out.println(huge + " bytes in huge pages");
        if (args[0].equals("on")) {
            // Half of what the arrays take: the kernel may lack adjacent memory for some of it.
            Check.that(huge >= arrays * (long) LENGTH / 2, "the heap is in huge pages: " + huge);
        } else {
            Check.equal(0L, huge, "bytes of the heap in huge pages");
        }
        Check.equal(arrays, live.size(), "arrays");
        Check.that(huge <= 256 * Heap.MIB, "huge pages lie in the heap");
    }

    /** Keeps one array in each stretch of some KiB, has the heap give back the rest, and fills it again. */
    private static void again() throws Exception {
        String[] version = System.getProperty("os.version").split("[.]");
        int linux = 100 * Integer.parseInt(version[0]) + Integer.parseInt(version[1]);
        if (linux < 601) {
            throw new SkippedException("before Linux 6.1 pages in use do not become a huge page");
        }
        List<byte[]> live = arrays(100_000);
        long first = huge();
        List<byte[]> kept = new ArrayList<>();
        for (int i = 0; i < live.size(); i += 20) {
            kept.add(live.get(i));
        }
        live = null;
        System.gc();
        long split = huge();
        // To look is to allocate: a second apart, so that it takes none of the pages back.
        for (int i = 0; i < 60 && split > first / 2; i++) {
            Thread.sleep(1000);
            split = huge();
        }
        Check.that(split <= first / 2, "pages between live objects go back to the OS: " + split + " of " + first);
        live = arrays(90_000);
        long again = huge();
        System.out.println("bytes in huge pages: " + first + ", " + split + ", " + again);
        Check.that(again >= split + first / 4, "the heap is in huge pages again: " + again + " after " + split);
        for (byte[] array : kept) {
            Check.equal(LENGTH, array.length, "length of an array that was kept");
        }
        Check.equal(90_000, live.size(), "arrays");
    }

    private static List<byte[]> arrays(int count) {
        List<byte[]> arrays = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            arrays.add(new byte[LENGTH]);
        }
        return arrays;
    }

    /** Bytes of the heap in huge pages. */
    private static long huge() throws IOException, InterruptedException {
        return Smaps.sum("AnonHugePages", List.of(Smaps.heap()));
    }
}
