// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Where each collection is of the whole heap and frees next to nothing, and they take the part of the time that GCTimeLimit says, an
 *          allocation fails by the limit of the collections' overhead, unless that is turned off, or what is free is above GCHeapFreeLimit.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main/othervm -XX:ThirdPartyHeapOptions=plan=MarkSweep -Xms32m -Xmx32m -XX:GCTimeLimit=50 Overhead limit
 * @run main/othervm -XX:ThirdPartyHeapOptions=plan=MarkSweep -Xms32m -Xmx32m -XX:GCTimeLimit=50 -XX:-UseGCOverheadLimit Overhead none
 * @run main/othervm -XX:ThirdPartyHeapOptions=plan=MarkSweep -Xms32m -Xmx32m -XX:GCTimeLimit=50 -XX:GCHeapFreeLimit=0 Overhead none
 */

import heap.Check;
import heap.Heap;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;

public class Overhead {
    private static final int BYTES = 1000;
    /** What is free for the program, in objects: well below GCHeapFreeLimit percent of the heap. */
    private static final int FREE = 200;
    /** The program asks for the number of collections so seldom that this takes next to no time. */
    private static final int ALLOCATIONS = 100 * FREE;
    /** Many more than the limit needs. */
    private static final int COLLECTIONS = 1000;

    static volatile Object sink;

    public static void main(String[] args) {
        List<byte[]> live = new ArrayList<>(64 << 10);
        try {
            while (true) {
                live.add(new byte[BYTES]);
            }
        } catch (OutOfMemoryError e) {
            live.subList(live.size() - FREE, live.size()).clear();
        }
        String said = "none";
        try {
            for (long end = Heap.collections() + COLLECTIONS; Heap.collections() < end; ) {
                for (int i = 0; i < ALLOCATIONS; i++) {
                    sink = new byte[BYTES];
                }
            }
        } catch (OutOfMemoryError e) {
            said = e.getMessage().contains("GC overhead limit exceeded") ? "limit" : e.getMessage();
        }
        Reference.reachabilityFence(live);
        live.clear();
        Check.equal(args[0], said, "by what an allocation has failed");
    }
}
