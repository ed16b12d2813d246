// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary jcmd GC.run collects, GC.heap_info shows the heap, of our plans by size class, GC.class_histogram counts the live instances.
 * @library /lib
 * @run main/othervm -Xmx96m Jcmd
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import heap.Tool;
import java.lang.ref.Reference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class Jcmd {
    private static final int INSTANCES = 12_345;

    private static final class Counted {
        long first;
        long second;
    }

    public static void main(String[] args) throws Exception {
        run();
        heapInfo();
        histogram();
    }

    private static void run() throws InterruptedException {
        long before = Heap.collections();
        String output = Tool.jcmd("GC.run");
        Check.matches("Command executed successfully", output, "GC.run");
        Check.that(Heap.collections() > before, "GC.run collects");
    }

    private static void heapInfo() throws InterruptedException {
        String output = Tool.jcmd("GC.heap_info");
        Check.matches("total [0-9]+K, used [0-9]+K", output, "sizes in GC.heap_info");
        Check.matches("Metaspace +used [0-9]+K", output, "the metaspace in GC.heap_info");
        if (Child.neverMoves()) {
            Check.matches(" ms +non-moving +[0-9]+K reserved", output, "the space in GC.heap_info");
            Check.matches(" cell bytes +blocks +live cells +used cells +charged +occupancy", output, "what is known of size classes in GC.heap_info");
            Check.matches(" 24 +[1-9][0-9]* +[1-9][0-9]* +[1-9][0-9]* +[1-9][0-9]*K +[0-9.]+%", output, "a size class in GC.heap_info");
        }
        String options = String.join(" ", Child.optionsUnderTest());
        Matcher plan = Pattern.compile("plan=(\\w+)").matcher(options);
        Matcher plugin = Pattern.compile("ThirdPartyHeapPlugin=(?:\\S*/libmmtk_)?([\\w-]+)").matcher(options);
        if (plugin.find()) {
            String planName = plan.find() ? plan.group(1) : "MarkSweep";
            Check.matches("plan " + planName + ", plugin " + plugin.group(1) + " \\(mmtk [0-9.]+\\)", output, "plan and plugin in GC.heap_info");
        }
    }

    private static void histogram() throws InterruptedException {
        Counted[] live = new Counted[INSTANCES];
        for (int i = 0; i < INSTANCES; i++) {
            live[i] = new Counted();
            live[i] = new Counted();
        }
        String[] fields = Tool.jcmd("GC.class_histogram").lines().filter(line -> line.endsWith(" Jcmd$Counted"))
                .findFirst().orElseThrow(() -> new AssertionError("no Jcmd$Counted in the histogram")).trim().split("\\s+");
        Check.equal(INSTANCES, Integer.parseInt(fields[1]), "live instances");
        // Header of 12 bytes (16 without compressed class pointers) and two longs.
        Check.equal(INSTANCES * 32, Integer.parseInt(fields[2]), "their bytes");
        Reference.reachabilityFence(live);
    }
}
