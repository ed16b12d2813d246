// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary mmtk's option ignore_system_gc drops what programs ask for, and nothing else: soft references are cleared before an
 * OutOfMemoryError, and a request that was dropped is not the cause of a later collection.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main IgnoreSystemGc
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.lang.ref.SoftReference;

public class IgnoreSystemGc {
    public static void main(String[] args) throws Exception {
        Child child = Child.with("-Xmx48m", "-Xlog:gc").variable("MMTK_IGNORE_SYSTEM_GC", "true").main(Main.class);
        String out = child.mustExitCleanly(0).out();
        Check.matches("Pause \\w+ \\(Allocation Failure\\)", out, "a collection of a full heap");
        Check.that(!out.contains("System.gc()"), "a request that was ignored causes no collection, also not by name:\n" + out);
    }

    public static class Main {
        public static void main(String[] args) {
            SoftReference<Object> soft = new SoftReference<>(new Object());
            long before = Heap.collections();
            System.gc();
            Check.equal(before, Heap.collections(), "collections that System.gc() makes");
            Check.that(soft.get() != null, "softly reachable");
            try {
                // Larger than -Xmx: no collection is needed to see that.
                Check.that(new long[16 * Heap.MIB].length == 0, "there is no room for it");
            } catch (OutOfMemoryError expected) {
                Check.that(soft.get() == null, "soft references are cleared before an OutOfMemoryError");
            }
            System.gc();
            Heap.churn(200 * Heap.MIB);
        }
    }
}
