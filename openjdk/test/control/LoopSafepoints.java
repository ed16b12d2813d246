// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Counted loops have safepoints under plans that mark concurrently, as with G1, unless a flag says otherwise.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main LoopSafepoints
 */

import heap.Check;
import heap.Child;

public class LoopSafepoints {
    public static void main(String[] args) throws Exception {
        String concurrent = Child.concurrentPlan();
        check(concurrent, true, 1000);
        check(concurrent, true, 500, "-XX:+UseCountedLoopSafepoints", "-XX:LoopStripMiningIter=500");
        check(concurrent, false, 0, "-XX:-UseCountedLoopSafepoints");
        check("MarkSweep", false, 0);
    }

    private static void check(String plan, boolean safepoints, int iterations, String... options) throws Exception {
        String out = Child.with("-XX:ThirdPartyHeapOptions=plan=" + plan).and(options).flags();
        Check.matches("UseCountedLoopSafepoints\\s+= " + safepoints + " ", out, "whether loops have safepoints with " + plan);
        Check.matches("LoopStripMiningIter\\s+= " + iterations + " ", out, "the iterations between two of them");
    }
}
