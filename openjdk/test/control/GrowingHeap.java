// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary While what is alive grows, and the heap with it, most collections of a generational plan are partial.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main GrowingHeap
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.util.List;

public class GrowingHeap {
    private static final int LIVE_MIB = 200;
    private static final int OBJECT_BYTES = 1000;
    /** So many times as many partial collections as full ones. */
    private static final int MORE = 3;

    public static void main(String[] args) throws Exception {
        for (String option : List.of("GenCopy", "GenImmix", "StickyImmix", "GenCopy,nursery=Fixed:" + 32 * Heap.MIB)) {
            Child child = Child.with("-Xms8m", "-Xmx1g", "-Xlog:gc", "-XX:ThirdPartyHeapOptions=plan=" + option).main(Main.class).mustExitCleanly(0);
            long partial = child.count("Pause Young");
            long full = child.count("Pause Full");
            System.out.println(option + ": " + partial + " partial collections, " + full + " full ones");
            Check.that(partial >= MORE * full, option + " has " + full + " full collections and " + partial + " partial ones");
        }
    }

    public static class Main {
        public static void main(String[] args) {
            List<byte[]> live = Heap.grow(LIVE_MIB * (Heap.MIB / OBJECT_BYTES), OBJECT_BYTES);
            Check.that(live.get(0) != null, "all are alive");
        }
    }
}
