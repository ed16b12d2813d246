// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary What this heap does not share is said as HotSpot says it: no string deduplication, no archived heap objects.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main SharedStrings
 */

import heap.Check;
import heap.Child;

public class SharedStrings {
    public static void main(String[] args) throws Exception {
        String deduplication = log("-XX:+UseStringDeduplication");
        Check.matches("warning.*String Deduplication disabled: not supported by selected GC", deduplication, "the warning");
        String archive = log("-Xlog:cds");
        Check.matches("CDS heap data is being ignored", archive, "what becomes of archived heap objects");
        Check.equal("runs", log("-Xmx64m").trim(), "no word without being asked");
    }

    private static String log(String option) throws Exception {
        return Child.with(option).main(Main.class).mustExitCleanly(0).out();
    }

    public static class Main {
        public static void main(String[] args) {
            System.out.println("runs");
        }
    }
}
