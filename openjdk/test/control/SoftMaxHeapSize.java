// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary The heap stays below SoftMaxHeapSize, which jcmd can change, as long as live objects fit; when they do not, it grows up
 * to -Xmx.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/othervm -Xms8m -Xmx256m -XX:MinHeapFreeRatio=90 -XX:MaxHeapFreeRatio=95 -XX:SoftMaxHeapSize=48m SoftMaxHeapSize
 */

import heap.Check;
import heap.Heap;
import heap.Tool;
import java.util.ArrayList;
import java.util.List;

public class SoftMaxHeapSize {
    private static final int SOFT_MAX = 48 * Heap.MIB;

    private static final List<byte[]> live = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        keep(16);
        Heap.collect(2);
        // MinHeapFreeRatio asks for ten times the live objects.
        Check.that(total() <= SOFT_MAX, "the heap is not above SoftMaxHeapSize: " + total());
        Tool.jcmd("VM.set_flag", "SoftMaxHeapSize", Integer.toString(2 * SOFT_MAX));
        Heap.collect(2);
        Check.that(total() > SOFT_MAX && total() <= 2 * SOFT_MAX, "the heap follows SoftMaxHeapSize: " + total());
        keep(120);
        Heap.collect(2);
        Check.that(total() > 120L * Heap.MIB, "live objects have room: " + total());
    }

    private static void keep(int mebibytes) {
        while (live.size() < mebibytes) {
            live.add(new byte[Heap.MIB]);
        }
    }

    private static long total() {
        return Runtime.getRuntime().totalMemory();
    }
}
