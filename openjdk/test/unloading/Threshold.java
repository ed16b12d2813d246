// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Dead class loaders are looked for when metaspace reaches its threshold, although the heap is collected often: collections that
 * do not look for them leave the threshold where it is.
 * @requires vm.opt.ThirdPartyHeapOptions != "plan=NoGC"
 * @library /lib
 * @run driver Threshold
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.Loaders;

public class Threshold {
    private static final int LOADERS = 9000;

    public static void main(String[] args) throws Exception {
        Child child = Child.with("-Xms64m", "-Xmx64m", "-XX:MetaspaceSize=4m", "-Xlog:gc").main(Main.class).mustExitCleanly(0);
        Check.that(child.count("Metadata GC Threshold") > 0, "collections for metaspace\n" + child);
        Check.that(child.count("Pause") > 2 * child.count("Metadata GC Threshold"), "others\n" + child);
    }

    /** Defined by each loader. */
    public static class Unloaded {
        static int[] value = {1};
    }

    /** Fills the heap many times while no class dies, and then with each loader that it drops. */
    public static class Main {
        public static void main(String[] args) throws Exception {
            Heap.churn(6000L * Heap.MIB);
            for (int i = 0; i < LOADERS; i++) {
                new Loaders.Loader(Unloaded.class).make(Unloaded.class);
                Heap.churn(i % 3 == 0 ? Heap.MIB : 0);
            }
        }
    }
}
