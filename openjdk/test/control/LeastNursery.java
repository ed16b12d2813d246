// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary The smallest nursery that is not refused has room for objects: memory does not run out while little is alive.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main LeastNursery
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.Threads;
import java.util.List;

public class LeastNursery {
    private static final int THREADS = 4;
    private static final int LIVE_MIB = 10;
    private static final int OBJECT_BYTES = 1000;

    public static void main(String[] args) throws Exception {
        for (String plan : List.of("GenCopy", "GenImmix", "StickyImmix")) {
            Child.with("-Xmx64m", "-XX:ThirdPartyHeapOptions=nursery=Fixed:131072,plan=" + plan).main(Main.class).mustExitCleanly(0);
        }
    }

    public static class Main {
        public static void main(String[] args) throws Exception {
            Threads.run(THREADS, number -> {
                List<byte[]> live = Heap.grow(LIVE_MIB * (Heap.MIB / OBJECT_BYTES) / THREADS, OBJECT_BYTES);
                Check.that(live.get(0) != null, "all are alive");
            });
        }
    }
}
