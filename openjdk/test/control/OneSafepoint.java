// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Where marking is over in the pause in which it begins, the final mark follows in the same safepoint.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main OneSafepoint
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.util.regex.Pattern;

public class OneSafepoint {
    private static final long BYTES = 2L << 30;

    public static void main(String[] args) throws Exception {
        if (!Child.hasOwnPolicy()) {
            return;
        }
        Child child = Child.with("-Xmx32m", "-Xlog:gc,safepoint", "-XX:ThirdPartyHeapOptions=plan=ConcurrentMarkSweep").main(Main.class);
        String out = child.mustExitCleanly(0).out();
        long initial = count("Pause Init Mark", out);
        long last = count("Pause Final Mark", out);
        long safepoints = count("Safepoint \"ThirdPartyHeapCollect\"", out) - count("Pause Full", out);
        Check.that(initial > 0 && last > 0, "there is no marking");
        Check.that(safepoints < initial + last, safepoints + " safepoints for " + initial + " initial and " + last + " final marks");
    }

    private static long count(String text, String out) {
        return Pattern.compile(Pattern.quote(text)).matcher(out).results().count();
    }

    /** Little is alive. */
    public static class Main {
        public static void main(String[] args) {
            Heap.churn(BYTES);
        }
    }
}
