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
import java.util.ArrayList;
import java.util.List;

public class LeastNursery {
    private static final int THREADS = 4;
    private static final int LIVE_MIB = 10;
    private static final int OBJECT_BYTES = 1000;

    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        for (String plan : List.of("GenCopy", "GenImmix", "StickyImmix")) {
            Child.with("-Xmx64m", "-XX:ThirdPartyHeapOptions=nursery=Fixed:131072,plan=" + plan).main(Main.class).mustExitCleanly(0);
        }
    }

    /** Keeps one object of six. */
    public static class Main {
        public static void main(String[] args) throws Exception {
            Threads.run(THREADS, number -> {
                List<byte[]> live = new ArrayList<>();
                while (live.size() < LIVE_MIB * (Heap.MIB / OBJECT_BYTES) / THREADS) {
                    live.add(new byte[OBJECT_BYTES]);
                    for (int i = 0; i < 5; i++) {
                        sink = new byte[OBJECT_BYTES];
                    }
                }
                Check.that(live.get(0) != null, "all are alive");
            });
        }
    }
}
