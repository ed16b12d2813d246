// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary A flag that has no effect on this heap says so in one line, and the VM runs; those that have one are silent.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main IgnoredFlags
 */

import heap.Check;
import heap.Child;
import heap.ReservedHugePages;
import java.util.List;

public class IgnoredFlags {
    private static final String WARNING = "\\[warning\\]\\[gc *\\] %s has no effect on the heap with -XX:\\+UseThirdPartyHeap: .+";

    public static void main(String[] args) throws Exception {
        try (ReservedHugePages pages = new ReservedHugePages()) {
            // HotSpot itself warns on a system that has none.
            if (!Child.neverMoves() || pages.number() == 0) {
                Check.matches("UseLargePages (disabled|has no effect)", run("-XX:+UseLargePages"), "the warning about large pages");
            }
        }
        if (!Child.neverMoves()) {
            warns("-XX:+AlwaysPreTouch", "-XX:\\+AlwaysPreTouch");
        }
        warns("-XX:ThirdPartyHeapOptions=plan=Immix -XX:+AlwaysPreTouch", "-XX:\\+AlwaysPreTouch");
        warns("-XX:MaxGCPauseMillis=10", "-XX:MaxGCPauseMillis");
        warns("-XX:MinHeapSize=8m -XX:InitialHeapSize=16m", "-XX:MinHeapSize");
        warns("-XX:GCPauseIntervalMillis=10", "-XX:GCPauseIntervalMillis");
        warns("-XX:GCTimeRatio=9", "-XX:GCTimeRatio");
        warns("-XX:MinHeapDeltaBytes=1m", "-XX:MinHeapDeltaBytes");
        warns("-XX:InitiatingHeapOccupancyPercent=30", "-XX:InitiatingHeapOccupancyPercent");
        warns("-Xmn8m", "The size of a generation");
        warns("-XX:NewRatio=3", "The size of a generation");
        warns("-XX:OldSize=8m", "The size of a generation");
        warns("-XX:SurvivorRatio=4", "The size of a generation");
        warns("-XX:TargetSurvivorRatio=40", "The size of a generation");
        warns("-XX:MaxTenuringThreshold=3", "-XX:MaxTenuringThreshold");
        warns("-XX:InitialTenuringThreshold=3", "-XX:InitialTenuringThreshold");
        warns("-XX:PretenureSizeThreshold=64k", "-XX:PretenureSizeThreshold");
        warns("-XX:-ParallelRefProcEnabled", "-XX:-ParallelRefProcEnabled");
        warns("-XX:+UseDynamicNumberOfGCThreads", "-XX:\\+UseDynamicNumberOfGCThreads");
        warns("-XX:+ExplicitGCInvokesConcurrent", "-XX:\\+ExplicitGCInvokesConcurrent");
        if (!Child.marksConcurrently()) {
            warns("-XX:ConcGCThreads=1", "-XX:ConcGCThreads");
        }
        warns("-XX:+UseTLAB", "What is said of TLABs");
        warns("-XX:TLABSize=8k", "What is said of TLABs");
        warns("-XX:MinTLABSize=4k", "What is said of TLABs");
        warns("-XX:-ResizeTLAB", "What is said of TLABs");
        Check.matches("have no effect without -XX:\\+UseThirdPartyHeap", run("-XX:-UseThirdPartyHeap -XX:+UseSerialGC -XX:ThirdPartyHeapPlugin=stock"),
                "the warning where the heap is another");
        warns("-XX:AllocatePrefetchStyle=2", "-XX:AllocatePrefetchStyle=2");
        warns("-XX:AllocatePrefetchStyle=3", "-XX:AllocatePrefetchStyle=3");
        warnsByEnvironment("-XX:NewRatio=3", "The size of a generation");
        List<String> silent = List.of("-Xms32m", "-XX:+UseTransparentHugePages", "-XX:SoftMaxHeapSize=32m", "-XX:+UseNUMA", "-XX:-AlwaysPreTouch");
        for (String option : silent) {
            Check.equal(0L, warnings(option), "warnings about " + option);
        }
    }

    private static void warns(String options, String named) throws Exception {
        String out = run(options);
        Check.matches(String.format(WARNING, named), out, "the warning about " + options);
        Check.equal(1L, warnings(options), "warnings about " + options);
    }

    /** The flag is set by the environment. */
    private static void warnsByEnvironment(String flag, String named) throws Exception {
        String out = Child.with("-Xmx64m", "-version").variable("JAVA_TOOL_OPTIONS", flag).mustExit(0).out();
        Check.matches(String.format(WARNING, named), out, "the warning about JAVA_TOOL_OPTIONS=" + flag);
    }

    private static long warnings(String options) throws Exception {
        return run(options).lines().filter(line -> line.contains("has no effect")).count();
    }

    private static String run(String options) throws Exception {
        return Child.with(("-Xmx64m " + options + " -version").split(" ")).mustExit(0).out();
    }
}
