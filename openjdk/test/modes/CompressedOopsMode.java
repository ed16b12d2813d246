// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Small heaps use unscaled compressed oops, larger ones scaled, those that lie high a base, the largest none.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/timeout=300 CompressedOopsMode
 */

import heap.Check;
import heap.Child;

public class CompressedOopsMode {
    public static void main(String[] args) throws Exception {
        mode("32-bit", "-Xmx64m");
        mode("32-bit", "-Xmx384m");
        // Of 3 GiB of addresses, large objects would use up what is not heap.
        mode("Zero based", "-Xmx386m");
        mode("Zero based", "-Xmx2g");
        mode("Zero based", "-Xmx4g");
        mode("Zero based", "-Xmx20g");
        mode("Zero based", "-Xmx64m", "-XX:HeapBaseMinAddress=4g");
        mode("Non-zero disjoint base", "-Xmx64m", "-XX:HeapBaseMinAddress=32g");
        mode("Non-zero based", "-Xmx64m", "-XX:HeapBaseMinAddress=72704m");
        mode("Non-zero based", "-Xmx64m", "-XX:HeapBaseMinAddress=72704m", "-XX:TieredStopAtLevel=1");
        mode("Non-zero based", "-Xmx64m", "-XX:HeapBaseMinAddress=72704m", "-Xint");
        mode("Non-zero disjoint base", "-Xmx31900m");
        mode("null", "-Xmx64g");
        mode("null", "-Xmx64m", "-XX:-UseCompressedOops");
        mode("null", "-Xmx64g", "-XX:-UseCompressedOops");
    }

    private static void mode(String mode, String... options) throws Exception {
        Child child = Child.with("-Xms48m").and(options).main(Main.class).mustExitCleanly(0);
        Check.equal(mode, child.out().strip(), "the mode for " + String.join(" ", options));
    }

    public static class Main {
        public static void main(String[] args) {
            System.gc();
            System.out.println(System.getProperty("java.vm.compressedOopsMode"));
        }
    }
}
