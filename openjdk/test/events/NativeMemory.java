// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Native memory tracking shows what is mapped for the Java heap, which grows with it, and for the collector's metadata.
 * @requires vm.opt.ThirdPartyHeapPlugin == null | vm.opt.ThirdPartyHeapPlugin == "stock" | vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main/othervm -Xms32m -Xmx256m -XX:NativeMemoryTracking=summary NativeMemory
 * @run main/othervm -Xms32m -Xmx256m -XX:NativeMemoryTracking=detail NativeMemory
 */

import heap.Check;
import heap.Heap;
import heap.Tool;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class NativeMemory {
    private static final int MEBIBYTES = 100;

    private static byte[][] hog;

    public static void main(String[] args) throws Exception {
        long before = committed("Java Heap");
        Check.that(before >= 1 << 10 && before < MEBIBYTES << 10, "KiB of the heap: " + before);
        Check.that(mapped("GC") >= 64, "KiB mapped for metadata: " + mapped("GC"));
        hog = new byte[MEBIBYTES][Heap.MIB];
        long after = committed("Java Heap");
        Check.that(after >= MEBIBYTES << 10 && after <= 512 << 10, "KiB of the heap that holds 100 MiB: " + after);
    }

    private static long committed(String category) throws InterruptedException {
        return kibibytes("-\\s+" + category + " \\(reserved=\\d+KB, committed=(\\d+)KB");
    }

    private static long mapped(String category) throws InterruptedException {
        return kibibytes("-\\s+" + category + " \\([^-]*\\(mmap: reserved=\\d+KB, committed=(\\d+)KB");
    }

    private static long kibibytes(String regex) throws InterruptedException {
        String summary = Tool.jcmd("VM.native_memory", "summary");
        Matcher matcher = Pattern.compile(regex).matcher(summary);
        Check.that(matcher.find(), "nothing matches " + regex + " in " + summary);
        return Long.parseLong(matcher.group(1));
    }
}
