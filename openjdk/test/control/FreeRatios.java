// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary After a collection, MinHeapFreeRatio and MaxHeapFreeRatio bound the part of the heap that is free (of a plan that copies, without what it sets aside).
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @modules jdk.management
 * @library /lib
 * @run main/othervm -XX:ThirdPartyHeapOptions=plan=MarkSweep -Xms8m -Xmx256m -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=20 FreeRatios 10 20
 * @run main/othervm -XX:ThirdPartyHeapOptions=plan=MarkSweep -Xms8m -Xmx256m -XX:MinHeapFreeRatio=60 -XX:MaxHeapFreeRatio=65 FreeRatios 60 65
 * @run main/othervm -XX:ThirdPartyHeapOptions=plan=MarkSweep -Xms8m -Xmx256m -XX:MinHeapFreeRatio=0 -XX:MaxHeapFreeRatio=100 FreeRatios 0 100
 * @run main/othervm -XX:ThirdPartyHeapOptions=plan=MarkSweep -Xms8m -Xmx256m FreeRatios 10 20 set
 */

/*
 * @test id=sticky
 * @summary The same where most collections look at new objects alone, which needs no room for copies of them.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @modules jdk.management
 * @library /lib
 * @run main/othervm -XX:ThirdPartyHeapOptions=plan=StickyMarkSweep -Xms8m -Xmx256m -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=20 FreeRatios 10 20
 */

import com.sun.management.HotSpotDiagnosticMXBean;
import heap.Check;
import heap.Heap;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

public class FreeRatios {
    /** Percent: threads allocate after a collection. */
    private static final double TOLERANCE = 2.5;

    private static double min;
    private static double max;

    public static void main(String[] args) {
        min = Double.parseDouble(args[0]);
        max = Double.parseDouble(args[1]);
        if (args.length > 2) {
            // While the VM runs.
            HotSpotDiagnosticMXBean flags = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
            flags.setVMOption("MinHeapFreeRatio", args[0]);
            flags.setVMOption("MaxHeapFreeRatio", args[1]);
        }
        List<byte[]> live = new ArrayList<>();
        for (int i = 0; i < 40 * 8; i++) {
            live.add(new byte[Heap.MIB / 8]);
        }
        check("with " + live.size() + " arrays");
        long total = Runtime.getRuntime().totalMemory();
        live.subList(live.size() / 2, live.size()).clear();
        check("with half of them");
        Check.that(max < 100 || Runtime.getRuntime().totalMemory() >= total, "the heap has shrunk, though all of it may be free");
    }

    private static void check(String when) {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        double total = runtime.totalMemory();
        double percent = 100 * runtime.freeMemory() / total;
        Check.that(percent >= min - TOLERANCE, percent + " % are free " + when + ", at least " + min + " are asked for");
        Check.that(percent <= max + TOLERANCE, percent + " % are free " + when + ", at most " + max + " are asked for");
    }
}
