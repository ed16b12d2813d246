// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary -Xlog:gc+init says what every collector says of machine and heap, and names plugin and plan; gc+ref counts references
 * by kind; gc+heap=debug prints the heap before and after each collection.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main GcLogs
 */

import heap.Check;
import heap.Child;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class GcLogs {
    private static final int REFERENCES = 1000;

    public static void main(String[] args) throws Exception {
        String init = log("gc+init");
        for (String line : List.of("Version: 17", "CPUs: \\d+ total", "Memory: ", "Large Page Support: ", "NUMA Support: ",
                "Compressed Oops: ", "Heap Min Capacity: ", "Heap Initial Capacity: 32M", "Heap Max Capacity: 64M", "Pre-touch: ",
                "Parallel Workers: \\d+", "Plugin: \\S+ \\(mmtk [0-9.]+\\)", "Plan: [A-Z]\\w+")) {
            Check.matches("\\[gc,init\\] " + line, init, "a line of gc+init");
        }
        references(log("gc+ref=debug"));
        String heap = log("gc+heap=debug");
        Check.matches("Heap before GC", heap, "the heap before a collection");
        Check.matches("Heap after GC", heap, "the heap after a collection");
        Check.matches("K used of 65536K|K used of 32768K", heap, "the total");
    }

    private static String log(String what) throws Exception {
        return Child.with("-Xms32m", "-Xmx64m", "-Xlog:" + what).main(Main.class).mustExitCleanly(0).out();
    }

    private static void references(String log) {
        String line = "GC\\(\\d+\\) Discovered: Soft: (\\d+) Weak: (\\d+) Final: (\\d+) Phantom: (\\d+)";
        Matcher counts = Pattern.compile(line).matcher(log);
        Check.that(counts.find(), "a line with the counts of references: " + log);
        long weak = Long.parseLong(counts.group(2));
        Check.that(weak >= REFERENCES && weak < 10 * REFERENCES, "weak references: " + weak);
    }

    public static class Main {
        private static final List<Object> kept = new ArrayList<>();

        public static void main(String[] args) {
            for (int i = 0; i < REFERENCES; i++) {
                kept.add(new WeakReference<>(new Object()));
            }
            System.gc();
        }
    }
}
