// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary With -XX:+UseNUMAInterleaving, which -XX:+UseNUMA sets where there are several nodes, the kernel interleaves the
 *          heap among the nodes, by its own account; without it no part of the heap.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/othervm -Xmx64m -XX:+UseNUMAInterleaving Interleaving on
 * @run main/othervm -Xmx64m Interleaving off
 */

import com.sun.management.HotSpotDiagnosticMXBean;
import heap.Check;
import heap.Smaps;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jtreg.SkippedException;

public class Interleaving {
    private static final Path MAPS = Path.of("/proc/self/numa_maps");
    private static final int LENGTH = 1000;
    private static final int ARRAYS = 20_000;

    public static void main(String[] args) throws Exception {
        boolean on = args[0].equals("on");
        var flags = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        if (!Files.exists(MAPS) || on && flags.getVMOption("UseNUMAInterleaving").getValue().equals("false")) {
            throw new SkippedException("this kernel has no NUMA, or this system no libnuma");
        }
        List<byte[]> live = new ArrayList<>();
        for (int i = 0; i < ARRAYS; i++) {
            live.add(new byte[LENGTH]);
        }
        long interleaved = interleavedPages() * 4096;
        System.out.println(interleaved + " bytes interleaved");
        if (on) {
            Check.that(interleaved >= ARRAYS * (long) LENGTH, "the heap is interleaved: " + interleaved);
        } else {
            Check.equal(0L, interleaved, "bytes of the heap that are interleaved");
        }
        Check.equal(ARRAYS, live.size(), "arrays");
    }

    /** Pages of the heap in memory that the kernel takes from the nodes in turn. */
    private static long interleavedPages() throws Exception {
        long[] heap = Smaps.heap();
        Pattern line = Pattern.compile("([0-9a-f]+) interleave:.* anon=(\\d+) .*");
        long pages = 0;
        for (String each : Files.readAllLines(MAPS)) {
            Matcher mapping = line.matcher(each);
            if (mapping.matches()) {
                long address = Long.parseUnsignedLong(mapping.group(1), 16);
                pages += heap[0] <= address && address < heap[1] ? Long.parseLong(mapping.group(2)) : 0;
            }
        }
        return pages;
    }
}
