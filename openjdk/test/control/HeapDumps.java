// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Heap dumps by jcmd, by the HotSpotDiagnostic MBean, on OutOfMemoryError and around collections have all live instances in
 * them, and the log shows histograms around collections.
 * @library /lib
 * @modules jdk.management
 * @run main/othervm -Xmx96m HeapDumps
 */

import com.sun.management.HotSpotDiagnosticMXBean;
import heap.Check;
import heap.Child;
import heap.HeapDump;
import heap.Tool;
import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

public class HeapDumps {
    private static final int INSTANCES = 5000;

    private static final class Counted {
        Object[] self = {this};
    }

    public static void main(String[] args) throws Exception {
        List<Counted> live = make();
        Path byBean = Path.of("bean.hprof").toAbsolutePath();
        Path byJcmd = Path.of("jcmd.hprof").toAbsolutePath();
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(byBean.toString(), true);
        check(byBean);
        Check.matches("Heap dump file created", Tool.jcmd("GC.heap_dump", byJcmd.toString()), "GC.heap_dump");
        check(byJcmd);
        Reference.reachabilityFence(live);
        onOutOfMemory();
        aroundCollections();
    }

    private static List<Counted> make() {
        List<Counted> live = new ArrayList<>();
        for (int i = 0; i < INSTANCES; i++) {
            new Counted();
            live.add(new Counted());
        }
        return live;
    }

    private static void check(Path file) throws Exception {
        HeapDump dump = new HeapDump(file);
        Check.equal(INSTANCES, dump.instancesOf(Counted.class), "live instances in " + file.getFileName());
        Check.that(dump.objects() > 3 * INSTANCES, "all objects: " + dump.objects());
        Files.delete(file);
    }

    private static void aroundCollections() throws Exception {
        Child child = Child.with("-Xmx32m", "-XX:+HeapDumpBeforeFullGC", "-XX:+HeapDumpAfterFullGC", "-XX:HeapDumpPath=gc.hprof",
                "-Xlog:gc+classhisto=trace").main(Collecting.class).mustExitCleanly(0);
        for (String file : List.of("gc.hprof", "gc.hprof.1")) {
            Check.equal(1, new HeapDump(child.file(file)).instancesOf(Collecting.class), "live instances in " + file);
        }
        for (String when : List.of("before", "after")) {
            Check.matches("Class Histogram \\(" + when + " full gc\\)", child.out(), "the log of a collection");
        }
    }

    public static class Collecting {
        public static void main(String[] args) {
            Collecting live = new Collecting();
            System.gc();
            Reference.reachabilityFence(live);
        }
    }

    private static void onOutOfMemory() throws Exception {
        Child child = Child.with("-Xmx32m", "-XX:+HeapDumpOnOutOfMemoryError", "-XX:HeapDumpPath=oom.hprof").main(Main.class)
                .mustExitCleanly(0);
        HeapDump dump = new HeapDump(child.file("oom.hprof"));
        Check.equal(INSTANCES, dump.instancesOf(Counted.class), "live instances in the dump on OutOfMemoryError");
    }

    public static class Main {
        public static void main(String[] args) {
            List<Counted> live = make();
            List<Object> hog = new ArrayList<>();
            try {
                while (true) {
                    hog.add(new byte[50_000]);
                }
            } catch (OutOfMemoryError e) {
                hog = null;
            }
            Check.equal(INSTANCES, live.size(), "live instances");
        }
    }
}
