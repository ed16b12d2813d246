// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Where marking is over in the pause in which it begins, the final mark follows in the same safepoint.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main OneSafepoint
 */

import heap.Check;
import heap.Child;
import heap.Heap;

public class OneSafepoint {
    private static final long BYTES = 2L << 30;

    public static void main(String[] args) throws Exception {
        Child child = Child.with("-Xmx32m", "-Xlog:gc,safepoint", "-XX:ThirdPartyHeapOptions=plan=ConcurrentMarkSweep").main(Main.class);
        long marks = child.mustExitCleanly(0).count("Pause Final Mark");
        long beside = child.concurrentMarks();
        Check.that(marks > 0, "there is no marking");
        Check.that(2 * beside < marks, beside + " of " + marks + " final marks had a safepoint of their own");
    }

    /** Little is alive that has to be looked at: no element of the array is. */
    public static class Main {
        private static final byte[] LONG = new byte[4 * Heap.MIB];

        public static void main(String[] args) {
            Heap.churn(BYTES);
            Check.equal(4 * Heap.MIB, LONG.length, "bytes of the array");
        }
    }
}
