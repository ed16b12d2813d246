// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary HotSpot's own checks of heap, classes and code before and after each pause find nothing, and they end: they load weak references,
 * also after the pause in which marking begins. All that is reachable is marked when a pause ends.
 * @library /lib
 * @run main/timeout=300 Verified
 */

import heap.Check;
import heap.Child;
import heap.Heap;

public class Verified {
    public static void main(String[] args) throws Exception {
        // All checks: the options under test may choose some.
        String[] options = Child.optionsUnderTest().stream().filter(option -> !option.startsWith("-XX:VerifySubSet")).toArray(String[]::new);
        Child child = Child.withOnly(options).and("-Xmx24m", "-Xlog:gc+verify", "-XX:+UnlockDiagnosticVMOptions", "-XX:+VerifyBeforeGC", "-XX:+VerifyAfterGC")
                .main(Main.class);
        String out = child.mustExitCleanly(0).out();
        for (String when : new String[] {"Before", "After"}) {
            Check.matches("Verifying " + when + " GC", out, "the checks have been made");
        }
    }

    public static class Main {
        private static final int COLLECTIONS = 20;

        public static void main(String[] args) {
            while (Heap.collections() < COLLECTIONS) {
                Heap.churn(Heap.MIB);
            }
        }
    }
}
