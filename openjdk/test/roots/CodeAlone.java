// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A young object that compiled code alone refers to survives partial collections: when one ends, it is marked.
 * @library /lib
 * @run main CodeAlone
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.MutableCallSite;

public class CodeAlone {
    /** Two collections each. Which of them are partial is decided by what they cost, as measured. */
    private static final int ROUNDS = 100;
    private static final int LEAST_PARTIAL = 20;

    public static void main(String[] args) throws Exception {
        Child.with("-Xmx64m", "-Xbatch", "-XX:-TieredCompilation", "-Xlog:gc", "-XX:+UnlockDiagnosticVMOptions", "-XX:+VerifyAfterGC")
                .main(Main.class).variable("MMTK_NURSERY", "Fixed:" + 8 * Heap.MIB).mustExitCleanly(0).mustHaveCollectedPartially(LEAST_PARTIAL);
    }

    public static class Main {
        private static final MutableCallSite SITE = new MutableCallSite(MethodType.methodType(int.class));
        private static final MethodHandle INVOKER = SITE.dynamicInvoker();

        public static void main(String[] args) throws Throwable {
            for (int round = 0; round < ROUNDS; round++) {
                // Compiled code has the target as a constant. The next one leaves it to that code.
                SITE.setTarget(MethodHandles.constant(int.class, round));
                for (int i = 0; i < 20_000; i++) {
                    Check.that(call() == round, "another target is called");
                }
                SITE.setTarget(MethodHandles.constant(int.class, -1));
                Heap.churn(16 * Heap.MIB);
            }
        }

        private static int call() throws Throwable {
            return (int) INVOKER.invokeExact();
        }
    }
}
