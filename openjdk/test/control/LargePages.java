// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary With -XX:+UseLargePages the heap has the huge pages that the administrator has reserved, and small ones where none is left.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main LargePages
 */

import com.sun.management.HotSpotDiagnosticMXBean;
import heap.Check;
import heap.Child;
import heap.Heap;
import heap.ReservedHugePages;
import heap.Smaps;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import jtreg.SkippedException;

public class LargePages {
    private static final int HUGE = 2 * Heap.MIB;
    private static final int LIVE = 40 * Heap.MIB;
    private static final String SMALL = "the heap goes on with small pages";

    public static void main(String[] args) throws Exception {
        try (ReservedHugePages pages = new ReservedHugePages()) {
            if (!pages.canReserve()) {
                throw new SkippedException("only root may reserve huge pages");
            }
            check(pages);
        }
    }

    private static void check(ReservedHugePages pages) throws Exception {
        int before = pages.number();
        Thread restore = new Thread(() -> restore(pages, before));
        // If the test is ended from outside.
        Runtime.getRuntime().addShutdownHook(restore);
        try {
            pages.reserve(48);
            if (pages.number() != 48) {
                throw new SkippedException("the system has no 48 huge pages to reserve, but " + pages.number());
            }
            run(LIVE, Long.MAX_VALUE);
            run(64 * Heap.MIB, Long.MAX_VALUE, "-Xms64m", "-XX:+AlwaysPreTouch");
            run(LIVE, Long.MAX_VALUE, "-XX:+UseNUMA", "-XX:+UseNUMAInterleaving");
            pages.reserve(8);
            Child tooFew = run(HUGE, 8 * HUGE);
            Check.equal(1L, tooFew.count(SMALL), "lines about small pages");
            // Of the second chunk the first huge page is there, and the heap ends within the place of the next.
            pages.reserve(3);
            run(HUGE, 3 * HUGE, "-Xms7m", "-XX:+AlwaysPreTouch");
        } finally {
            pages.reserve(before);
            Runtime.getRuntime().removeShutdownHook(restore);
        }
    }

    private static void restore(ReservedHugePages pages, int number) {
        try {
            pages.reserve(number);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs a program whose heap is to have so many bytes of huge pages. The code cache is too small to take some. */
    private static Child run(long least, long most, String... options) throws Exception {
        Child child = Child.with("-Xmx64m", "-XX:+UseLargePages", "-XX:ReservedCodeCacheSize=8m").and(options);
        child.main(Main.class, Long.toString(least), Long.toString(most)).mustExitCleanly(0);
        Check.that(most != Long.MAX_VALUE || !child.out().contains("[warning]"), "no warning:\n" + child.out());
        return child;
    }

    public static class Main {
        public static void main(String[] args) throws Exception {
            byte[][] live = new byte[LIVE >> 10][];
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < live.length; i++) {
                    live[i] = new byte[(1 << 10) - 16];
                    live[i][i % live[i].length] = (byte) i;
                }
                Heap.churn(64 * Heap.MIB);
                Heap.collect(1);
            }
            for (int i = 0; i < live.length; i++) {
                Check.equal((byte) i, live[i][i % live[i].length], "an element");
            }
            live = null;
            Heap.collect(2);
            long huge = Smaps.sum("Private_Hugetlb", List.of(Smaps.heap()));
            System.out.println(huge + " bytes of the heap lie in huge pages");
            var flags = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
            if (flags.getVMOption("UseNUMAInterleaving").getValue().equals("true")) {
                Files.readAllLines(Path.of("/proc/self/numa_maps")).stream().filter(line -> line.contains(" huge "))
                        .forEach(line -> Check.that(line.contains(" interleave:"), "huge pages are interleaved: " + line));
            }
            Check.that(Long.parseLong(args[0]) <= huge && huge <= Long.parseLong(args[1]), huge + " bytes lie in huge pages");
        }
    }
}
