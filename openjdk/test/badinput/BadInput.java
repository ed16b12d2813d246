// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Bad options are refused by exactly one line on standard error that names the problem, with exit code 1, and no trace of a crash.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/native BadInput
 */

import heap.Check;
import heap.Child;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

public class BadInput {
    private static final String PLUGIN = "-XX:ThirdPartyHeapPlugin=";
    private static final String OPTIONS = "-XX:ThirdPartyHeapOptions=";

    private final List<String> failures = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        BadInput test = new BadInput();
        test.plugins();
        test.plans();
        test.options();
        test.environment();
        test.heapSizes();
        test.otherFlags();
        Check.that(test.failures.isEmpty(), String.join("\n", test.failures));
    }

    private void plugins() throws Exception {
        Path folder = Path.of(System.getProperty("test.nativepath"));
        Path text = Files.writeString(Path.of("text.so").toAbsolutePath(), "this is not a library\n");
        String builds = "builds in this JDK: .*\\bstock\\b";
        refused("there is no .*/lib/mmtk/libmmtk_nothing\\.so; " + builds, PLUGIN + "nothing");
        refused("there is no /nowhere/libmmtk_nothing\\.so; " + builds, PLUGIN + "/nowhere/libmmtk_nothing.so");
        refused("ThirdPartyHeapPlugin= is empty", PLUGIN);
        refused("text\\.so is not a plugin", PLUGIN + text);
        refused("is not a plugin", PLUGIN + folder);
        refused("is not a plugin: .* has no symbol third_party_heap_abi_version", PLUGIN + folder.resolve("libStranger.so"));
        refused("ABI version 999999, this JVM expects [0-9]+", PLUGIN + folder.resolve("libFuturePlugin.so"));
        refused("is not a plugin: .* has no symbol third_party_heap_entry", PLUGIN + folder.resolve("libHalfPlugin.so"));
    }

    private void plans() throws Exception {
        refused("option 'plan': unknown plan 'Nonsense'.*\\bImmix\\b", OPTIONS + "plan=Nonsense");
        refused("unknown plan ''.*\\bImmix\\b", OPTIONS + "plan=");
        refused("unknown plan 'immix'.*\\bImmix\\b", OPTIONS + "plan=immix");
        for (String plan : List.of("PageProtect", "Compressor")) {
            refused("plan " + plan + " is not supported.*\\bImmix\\b", OPTIONS + "plan=" + plan);
        }
    }

    private void options() throws Exception {
        refused("unknown option 'nonsense'.*\\bthreads\\b", OPTIONS + "nonsense=1");
        refused("unknown option 'nonsense'", OPTIONS + "plan=Immix,nonsense=1");
        refused("malformed option 'plan'", OPTIONS + "plan");
        refused("malformed option", OPTIONS + "=1");
        refused("malformed option", OPTIONS + ",");
        refused("malformed value 'many' of option 'threads'", OPTIONS + "threads=many");
        refused("malformed value '0' of option 'threads'", OPTIONS + "threads=0");
        refused("malformed value '-1' of option 'stress_factor'", OPTIONS + "stress_factor=-1");
        refused("malformed value 'maybe' of option 'precise_stress'", OPTIONS + "precise_stress=maybe");
        refused("malformed value 'AllInSet:9000-9001' of option 'thread_affinity'", OPTIONS + "thread_affinity=AllInSet:9000-9001");
        refused("malformed value 'Fixed:4096' of option 'nursery'.* at least 131072 bytes", OPTIONS + "plan=GenCopy,nursery=Fixed:4096");
        refused("a nursery of 20971 bytes: expected at least 131072", "-Xms2m", OPTIONS + "plan=GenCopy,nursery=ProportionalBounded:0.01,0.01");
        refused("option 'gc_trigger' cannot be set.*-Xms", OPTIONS + "gc_trigger=FixedHeapSize:1000000");
        refused("option 'side_metadata_base_address' cannot be set", OPTIONS + "side_metadata_base_address=5");
    }

    private void environment() throws Exception {
        refused(Child.with().variable("MMTK_THREADS", "many"), "malformed value 'many' of environment variable MMTK_THREADS", "MMTK_THREADS=many");
        refused(Child.with().variable("MMTK_PLAN", "Nonsense"), "environment variable MMTK_PLAN: unknown plan 'Nonsense'.*\\bImmix\\b", "MMTK_PLAN=Nonsense");
        refused(Child.with().variable("MMTK_STRESS_FACTOR", ""), "malformed value '' of environment variable MMTK_STRESS_FACTOR", "MMTK_STRESS_FACTOR=");
    }

    private void heapSizes() throws Exception {
        refused("-Xmx1024k is too small.*at least -Xmx[0-9]+k", "-Xmx1m");
        refused("-Xmx1024k is too small.*at least -Xmx[0-9]+k", "-Xms1m", "-Xmx1m");
        refused("-Xmx4k is too small.*at least -Xmx[0-9]+k", "-Xms4k", "-Xmx4k");
        refused("too large: at most [0-9]+ MiB", "-Xmx100000g");
        refused("too large: at most [0-9]+ MiB", "-Xmx9000000g");
    }

    private void otherFlags() throws Exception {
        for (String collector : List.of("Serial", "Parallel", "G1", "Z", "Shenandoah", "Epsilon")) {
            refused("-XX:\\+UseThirdPartyHeap cannot be combined with another collector", "-XX:+UnlockExperimentalVMOptions",
                    "-XX:+Use" + collector + "GC");
        }
        refused("-XX:ParallelGCThreads=0 is not supported", "-XX:ParallelGCThreads=0");
    }

    private void refused(String line, String... options) throws Exception {
        refused(Child.with(options), line, String.join(" ", options));
    }

    /** All cases are tried, so that one run shows all that fail. */
    private void refused(Child child, String line, String what) throws InterruptedException {
        try {
            child.and("-version").mustExitCleanly(1);
            Check.equal("", child.out(), "standard output");
            Check.equal(1L, child.err().lines().count(), "lines on standard error");
            Check.matches("^Error: .*" + line, child.err(), "standard error");
        } catch (AssertionError e) {
            failures.add("with " + what + ": " + e.getMessage() + "\n" + child.err());
        }
    }
}
