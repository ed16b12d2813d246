// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary HotSpot's own checks of heap, classes and code before and after each pause find nothing, and they end: they load weak references,
 * also after the pause in which marking begins.
 * @library /lib
 * @run main/timeout=300 Verified
 */

import heap.Child;
import heap.Heap;

public class Verified {
    public static void main(String[] args) throws Exception {
        Child.with("-Xmx24m", "-XX:+UnlockDiagnosticVMOptions", "-XX:+VerifyBeforeGC", "-XX:+VerifyAfterGC").main(Main.class).mustExitCleanly(0);
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
