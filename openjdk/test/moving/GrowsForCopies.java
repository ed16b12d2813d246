// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A heap that may grow does so by what a plan needs that copies objects, where nothing else has to be free after a collection.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main GrowsForCopies
 */

import heap.Child;

public class GrowsForCopies {
    public static void main(String[] args) throws Exception {
        for (String plan : new String[] {"SemiSpace", "Immix"}) {
            Child.with("-Xms8m", "-Xmx64m", "-XX:MinHeapFreeRatio=0", "-XX:ThirdPartyHeapOptions=plan=" + plan).main(Main.class).mustExitCleanly(0);
        }
    }

    /** Keeps ever more objects. */
    public static class Main {
        private static final int OBJECTS = 100_000;

        public static void main(String[] args) {
            Object[] kept = new Object[OBJECTS];
            for (int i = 0; i < OBJECTS; i++) {
                kept[i] = new byte[160];
            }
        }
    }
}
