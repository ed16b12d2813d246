// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary After `jcmd GC.run`, and a while after any collection, the kernel holds no more of the mark-sweep space than is charged.
 * @requires vm.opt.ThirdPartyHeapPlugin == "ms-64k" | vm.opt.ThirdPartyHeapPlugin == "ms-64k-block" | vm.opt.ThirdPartyHeapPlugin == "ms-4k"
 * @library /lib
 * @run main/othervm -XX:ThirdPartyHeapOptions=plan=MarkSweep -Xmx200m ResidentMemory
 * @run main/othervm -XX:ThirdPartyHeapOptions=plan=MarkSweep -Xms200m -Xmx200m -XX:-UseCompressedOops ResidentMemory
 * @run main/othervm -XX:ThirdPartyHeapOptions=plan=MarkSweep -Xms16m -Xmx500m ResidentMemory shrinking
 * @run main/othervm -XX:ThirdPartyHeapOptions=plan=MarkSweep -Xms200m -Xmx200m ResidentMemory idle
 */

import heap.Check;
import heap.Heap;
import heap.Smaps;
import heap.Tool;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

public class ResidentMemory {
    private static final int OBJECTS = 800_000;
    private static final long KIB = 1024;

    public static void main(String[] args) throws Exception {
        String part = args.length > 0 ? args[0] : "commands";
        switch (part) {
            case "shrinking" -> shrinking();
            case "idle" -> idle();
            default -> commands();
        }
    }

    /** By the command that asks for it, memory is given back before the command ends. */
    private static void commands() throws Exception {
        List<byte[]> live = new ArrayList<>();
        for (int stride : new int[] {1000, 3, 50, 20_000}) {
            for (int i = 0; i < OBJECTS; i++) {
                byte[] object = new byte[i * 31 % 300];
                if (i % stride == 0) {
                    live.add(object);
                }
            }
            Tool.jcmd("GC.run");
            check(live.size() + " arrays live");
            live.subList(0, live.size() / 2).clear();
        }
    }

    /** What dies is no more than may stay in the heap as it is, and more than in the one that it shrinks to. */
    private static void shrinking() throws Exception {
        List<byte[]> large = new ArrayList<>();
        for (int i = 0; i < 350; i++) {
            large.add(new byte[(int) Heap.MIB]);
        }
        System.gc();
        long before = Runtime.getRuntime().totalMemory();
        Heap.churn(12 * Heap.MIB);
        large.clear();
        Tool.jcmd("GC.run");
        long after = Runtime.getRuntime().totalMemory();
        Check.that(after < before / 4, "the heap shrinks: " + before + " to " + after);
        // Both by one call: to look into smaps would charge more than this is about.
        String info = Tool.jcmd("GC.heap_info");
        long charged = number(info, "([0-9]+)K charged") * KIB;
        long resident = number(info, "([0-9]+)K resident") * KIB;
        Check.that(resident <= charged + slack(after), resident + " bytes are resident, " + charged + " charged, of " + after);
    }

    /** A program that collects and goes on keeps its memory; when it does nothing, that is given back in the end. */
    private static void idle() throws Exception {
        Heap.churn(150 * Heap.MIB);
        System.gc();
        String info;
        do {
            Thread.sleep(500);
            info = Tool.jcmd("GC.heap_info");
        } while (number(info, "([0-9]+)K resident") > number(info, "([0-9]+)K charged") + slack(200 * Heap.MIB) / KIB);
    }

    private static long slack(long total) {
        return Math.max(Heap.MIB, total / 20);
    }

    private static void check(String when) throws Exception {
        long total = Runtime.getRuntime().totalMemory();
        long resident = resident(Tool.jcmd("GC.heap_info"));
        // Afterwards: looking allocates, and what it allocates is charged.
        long charged = number(Tool.jcmd("GC.heap_info"), "([0-9]+)K charged") * KIB;
        Check.that(resident <= charged + slack(total), resident + " bytes are resident, " + charged + " charged, of " + total + ", with " + when);
        Check.that(resident >= charged / 2, "only " + resident + " bytes are resident, " + charged + " charged: the addresses are wrong");
    }

    private static long number(String text, String regex) {
        Matcher matcher = Pattern.compile(regex).matcher(text);
        Check.that(matcher.find(), "no " + regex + " in:\n" + text);
        return Long.parseLong(matcher.group(1));
    }

    /** What the kernel holds of the mark-sweep space, by its own count. */
    private static long resident(String info) throws IOException {
        String line = info.lines().filter(each -> each.startsWith(" ms ")).findFirst().orElseThrow();
        List<long[]> ranges = merged(Pattern.compile("0x([0-9a-f]+)-0x([0-9a-f]+)").matcher(line).results().map(Smaps::range));
        Check.that(!ranges.isEmpty(), "the space has addresses: " + line);
        return Smaps.sum("Rss", ranges);
    }

    /** Ranges whose last addresses are known, adjacent ones as one, with their ends as the kernel shows them. */
    private static List<long[]> merged(Stream<long[]> ranges) {
        List<long[]> merged = new ArrayList<>();
        ranges.sorted(Comparator.comparingLong(range -> range[0])).forEach(range -> {
            long[] last = merged.isEmpty() ? null : merged.get(merged.size() - 1);
            range[1]++;
            if (last != null && last[1] == range[0]) {
                last[1] = range[1];
            } else {
                merged.add(range);
            }
        });
        return merged;
    }
}
