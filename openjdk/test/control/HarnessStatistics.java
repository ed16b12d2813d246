// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary MMTk.harness_begin and MMTk.harness_end, by jcmd and by the DiagnosticCommand MBean, print MMTk's statistics of what lies between. Called
 *          in another order, they say so and the program goes on.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @modules java.management
 * @run main HarnessStatistics
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.lang.management.ManagementFactory;
import java.util.List;
import javax.management.ObjectName;

public class HarnessStatistics {
    private static final int COLLECTIONS = 5;

    public static void main(String[] args) throws Exception {
        check(Child.with("-Xmx48m").main(Main.class).mustExitCleanly(0).out(), COLLECTIONS);
        Child child = Child.with("-Xmx48m").main(Waiting.class).start();
        try {
            Check.eventually(() -> child.out().contains("running"), "it runs");
            Check.matches("are not running", child.jcmd("MMTk.harness_end"), "an end before the beginning");
            Check.matches("Command executed successfully", child.jcmd("MMTk.harness_begin"), "MMTk.harness_begin");
            Check.matches("has begun already", child.jcmd("MMTk.harness_begin"), "a second beginning");
            child.jcmd("GC.run");
            Check.matches("Command executed successfully", child.jcmd("MMTk.harness_end"), "MMTk.harness_end");
            Check.matches("has begun already", child.jcmd("MMTk.harness_begin"), "a beginning after the end");
            Check.matches("are not running", child.jcmd("MMTk.harness_end"), "a second end");
        } finally {
            child.kill();
        }
        check(child.out(), 1);
    }

    /** The block has a line of names and a line of values; the first counts collections. */
    private static void check(String output, int collections) {
        List<String> lines = output.lines().toList();
        int start = -1;
        for (int i = 0; i < lines.size(); i++) {
            if (lines.get(i).matches("=+ MMTk Statistics Totals =+")) {
                Check.equal(-1, start, "an earlier block of statistics");
                start = i;
            }
        }
        Check.that(start >= 0 && start + 4 < lines.size(), "a block of statistics:\n" + output);
        String[] names = lines.get(start + 1).split("\t");
        String[] values = lines.get(start + 2).split("\t");
        Check.equal(names.length, values.length, "names and values");
        Check.equal("GC", names[0], "the first name");
        Check.equal(collections, Integer.parseInt(values[0]), "collections between begin and end");
        Check.that(List.of(names).containsAll(List.of("time.other", "time.stw")), "names of times: " + List.of(names));
        Check.matches("^Total time: [0-9.]+ ms$", lines.get(start + 3), "the total");
        Check.matches("^-+ End MMTk Statistics -+$", lines.get(start + 4), "the last line");
    }

    public static class Main {
        public static void main(String[] args) throws Exception {
            Heap.collect(2);
            call("mmtkHarnessBegin");
            Heap.collect(COLLECTIONS);
            call("mmtkHarnessEnd");
        }

        private static void call(String operation) throws Exception {
            ManagementFactory.getPlatformMBeanServer().invoke(new ObjectName("com.sun.management:type=DiagnosticCommand"),
                    operation, null, null);
        }
    }

    public static class Waiting {
        public static void main(String[] args) throws Exception {
            System.out.println("running");
            Thread.sleep(600_000);
        }
    }
}
