// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary HotSpot's own checks of heap, classes and code before and after each pause find nothing, and they end: they load weak references,
 * also after the pause in which marking begins. All that is reachable is marked when a pause ends.
 * @library /lib
 * @run main/timeout=300 Verified
 */

import heap.Child;
import heap.Heap;

public class Verified {
    public static void main(String[] args) throws Exception {
        // All checks: the options under test may choose some.
        String[] options = Child.optionsUnderTest().stream().filter(option -> !option.startsWith("-XX:VerifySubSet")).toArray(String[]::new);
        Child.withOnly(options).and("-Xmx24m", "-XX:+UnlockDiagnosticVMOptions", "-XX:+VerifyBeforeGC", "-XX:+VerifyAfterGC").main(Main.class)
                .mustExitCleanly(0);
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
