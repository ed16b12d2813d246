// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary jstat shows capacity and use of the heap, also between collections, and counts, times and causes of collections.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/othervm -Xms64m -Xmx64m PerformanceCounters
 */

import heap.Check;
import heap.Heap;
import heap.Tool;
import java.util.HashMap;
import java.util.Map;

public class PerformanceCounters {
    private static byte[][] hog;

    public static void main(String[] args) throws Exception {
        System.gc();
        Map<String, String> before = jstat("-gc");
        Check.equal("65536.0", before.get("OC"), "the heap's capacity (KiB)");
        Check.equal((double) Heap.collections(), number(before, "FGC"), "collections");
        hog = new byte[20][Heap.MIB];
        Check.eventually(() -> number(jstat("-gc"), "OU") - number(before, "OU") >= 20 << 10, "20 MiB more are in use");
        Check.equal(number(before, "FGC"), number(jstat("-gc"), "FGC"), "collections meanwhile");
        hog = null;
        System.gc();
        Map<String, String> after = jstat("-gc");
        Check.equal(number(before, "FGC") + 1, number(after, "FGC"), "collections");
        Check.that(number(after, "OU") - number(before, "OU") < 4 << 10, "the 20 MiB are gone: " + before + ", " + after);
        Check.that(number(after, "FGCT") > 0 && number(after, "FGCT") == number(after, "GCT"), "their time: " + after);
        Check.that(number(after, "MU") > 1 << 10 && number(after, "MU") <= number(after, "MC"), "metaspace: " + after);
        Map<String, String> percent = jstat("-gcutil");
        double used = 100 * number(after, "OU") / number(after, "OC");
        Check.that(Math.abs(number(percent, "O") - used) < 10, used + " percent are in use: " + percent);
        Check.matches("System.gc\\(\\) +No GC", Tool.run(command("-gccause")), "the cause of the last collection");
        Check.that(number(jstat("-gcoldcapacity"), "OGCMX") == 64 << 10, "the largest heap");
    }

    private static String[] command(String option) {
        return new String[] {Tool.ofJdk("jstat"), option, Long.toString(ProcessHandle.current().pid())};
    }

    private static double number(Map<String, String> columns, String name) {
        return Double.parseDouble(columns.get(name));
    }

    /** The columns by name. */
    private static Map<String, String> jstat(String option) {
        try {
            String[] lines = Tool.run(command(option)).trim().split("\n");
            String[] names = lines[lines.length - 2].trim().split(" +");
            String[] values = lines[lines.length - 1].trim().split(" +");
            Check.equal(names.length, values.length, "columns of jstat " + option);
            Map<String, String> columns = new HashMap<>();
            for (int i = 0; i < names.length; i++) {
                columns.put(names[i], values[i]);
            }
            return columns;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
