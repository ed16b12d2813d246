// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary The hs_err file of a crash and -Xinternalversion name heap, plan and plugin; a crash during collections is reported as well as any.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @modules jdk.unsupported
 * @run main CrashReport
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.RawMemory;
import heap.Tool;
import java.nio.file.Files;
import sun.misc.Unsafe;

public class CrashReport {
    private static final String DESCRIPTION = "third-party heap, plan \\w+, plugin \\S+ \\(mmtk [0-9.]+\\)";

    /** Without a core file the VM exits instead of aborting. */
    private static final int CRASHED = 1;

    public static void main(String[] args) throws Exception {
        killed("idle");
        killed("collecting");
        crashed();
        if (Child.neverMoves()) {
            narrowOop();
        }
        Check.matches("^" + DESCRIPTION + "$", Child.with("-Xinternalversion").mustExitCleanly(0).out(), "-Xinternalversion");
    }

    private static Child child(String kind, String... options) {
        return Child.with("-Xmx48m", "-XX:-CreateCoredumpOnCrash").and(options).main(Main.class, kind).start();
    }

    private static void killed(String kind) throws Exception {
        Child child = child(kind);
        try {
            Check.eventually(() -> child.out().contains("running"), "it runs");
            Tool.run("kill", "-SEGV", Long.toString(child.pid()));
            report(child);
        } finally {
            child.kill();
        }
    }

    /** Only the report of a crash in a thread of the VM has a list of threads. */
    private static void crashed() throws Exception {
        String report = report(child("crashing"));
        Check.matches("MMTk Worker#0", report, "the list of threads in the hs_err file");
        Check.matches("MMTk Driver", report, "the list of threads in the hs_err file");
    }

    /** The address that the program writes to is a narrow oop, where nothing is mapped, of an object that lies above. */
    private static void narrowOop() throws Exception {
        String report = report(child("narrow", "-XX:+UseCompressedOops", "-XX:HeapBaseMinAddress=8g"));
        Check.matches("=\\d+ is a narrow oop: .*Marker", report.replace('\n', ' '), "what the hs_err file says of registers");
    }

    private static String report(Child child) throws Exception {
        child.mustExit(CRASHED);
        Check.equal(1, child.crashFiles().size(), "hs_err files");
        String report = Files.readString(child.crashFiles().get(0));
        Check.matches("^Heap: " + DESCRIPTION, report, "the hs_err file");
        Check.matches("^GC Heap History \\([1-9]\\d* events\\)", report, "the heap's history");
        Check.matches("^\\{Heap before GC invocations=\\d+", report, "a collection in it");
        Check.matches("^ +total \\d+K, used \\d+K", report, "the heap at that collection");
        Check.matches("^END\\.$", report, "the end of the hs_err file");
        Check.that(!report.toLowerCase().contains("error occurred during error reporting"), "reported without another crash:\n" + report);
        return report;
    }

    private static final class Marker {
    }

    public static class Main {
        private static final Object[] markers = {new Marker()};

        public static void main(String[] args) throws Exception {
            Heap.collect(3);
            System.out.println("running");
            while (true) {
                switch (args[0]) {
                    case "idle" -> Thread.sleep(1000);
                    case "collecting" -> System.gc();
                    case "narrow" -> {
                        long narrow = RawMemory.unsafe().getInt(markers, Unsafe.ARRAY_OBJECT_BASE_OFFSET);
                        RawMemory.unsafe().putLong(narrow & 0xffffffffL, 0);
                    }
                    default -> RawMemory.unsafe().putLong(0, 0);
                }
            }
        }
    }
}
