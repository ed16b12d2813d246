// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary The hs_err file of a crash and -Xinternalversion name heap, plan and plugin; a crash during collections is reported as well as any.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main CrashReport
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.Tool;
import java.nio.file.Files;

public class CrashReport {
    private static final String DESCRIPTION = "third-party heap, plan \\w+, plugin \\S+ \\(mmtk [0-9.]+\\)";
    /** Without a core file the VM exits instead of aborting. */
    private static final int CRASHED = 1;

    public static void main(String[] args) throws Exception {
        for (String kind : new String[] {"idle", "collecting"}) {
            Child child = Child.with("-Xmx48m", "-XX:-CreateCoredumpOnCrash").main(Main.class, kind).start();
            Check.eventually(() -> child.out().contains("running"), "it runs");
            Tool.run("kill", "-SEGV", Long.toString(child.pid()));
            child.mustExit(CRASHED);
            Check.equal(1, child.crashFiles().size(), "hs_err files");
            String report = Files.readString(child.crashFiles().get(0));
            Check.matches("^Heap: " + DESCRIPTION, report, "the hs_err file");
            Check.matches("MMTk Worker#0", report, "the list of threads in the hs_err file");
            Check.matches("^END\\.$", report, "the end of the hs_err file");
            Check.that(!report.contains("Error occurred during error reporting"), "it is reported without another crash:\n" + report);
        }
        Check.matches("^" + DESCRIPTION + "$", Child.with("-Xinternalversion").mustExitCleanly(0).out(), "-Xinternalversion");
    }

    public static class Main {
        public static void main(String[] args) throws Exception {
            Heap.collect(3);
            System.out.println("running");
            while (true) {
                if (args[0].equals("idle")) {
                    Thread.sleep(1000);
                } else {
                    System.gc();
                }
            }
        }
    }
}
