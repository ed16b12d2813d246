// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary There are as many GC threads as -XX:ParallelGCThreads, the option threads or its environment variable say, and they
 *     collect. Where there is one for each processor, each has its own, unless the option thread_affinity says otherwise.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main GcThreads
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

public class GcThreads {
    private static final Path SELF = Path.of("/proc/self");

    public static void main(String[] args) throws Exception {
        for (int threads : new int[] {1, 2, 8, processors(allowed(SELF)).cardinality()}) {
            Child.with("-Xmx48m", "-XX:ParallelGCThreads=" + threads).main(Main.class, "" + threads).mustExitCleanly(0);
        }
        Child.with("-Xmx48m", "-XX:ParallelGCThreads=2", "-XX:ThirdPartyHeapOptions=thread_affinity=AllInSet:0").main(Main.class, "2", "0")
            .mustExitCleanly(0);
        Child.with("-Xmx48m").variable("MMTK_THREADS", "3").main(Main.class, "3").mustExitCleanly(0);
        Child.with("-Xmx48m", "-XX:ParallelGCThreads=2", "-XX:ThirdPartyHeapOptions=threads=3").main(Main.class, "3").mustExitCleanly(0);
        if (Child.hasOwnPolicy()) {
            concurrent(2, "plan=ConcurrentMarkSweep", "-XX:ParallelGCThreads=8");
            concurrent(3, "plan=ConcurrentMarkSweep", "-XX:ParallelGCThreads=8", "-XX:ConcGCThreads=3");
            concurrent(4, "plan=ConcurrentMarkSweep,concurrent_threads=4", "-XX:ParallelGCThreads=8", "-XX:ConcGCThreads=3");
            concurrent(2, "plan=ConcurrentMarkSweep", "-XX:ParallelGCThreads=2", "-XX:ConcGCThreads=3");
            concurrent(0, "plan=MarkSweep", "-XX:ParallelGCThreads=8");
        }
    }

    /** What tools see as the number of GC threads that work concurrently. */
    private static void concurrent(int threads, String heapOptions, String... options) throws Exception {
        String out = Child.with("-Xmx48m", "-XX:ThirdPartyHeapOptions=" + heapOptions).and(options).flags();
        Check.matches("ConcGCThreads\\s+= " + threads + " ", out, "the number of concurrent GC threads with " + heapOptions);
    }

    public static class Main {
        public static void main(String[] args) throws Exception {
            List<String> live = Stream.iterate(0, i -> i + 1).limit(20_000).map(i -> "live " + i).collect(Collectors.toList());
            Heap.churn(64 * Heap.MIB);
            Heap.collect(5);
            for (int i = 0; i < live.size(); i++) {
                Check.equal("live " + i, live.get(i), "a live string");
            }
            int asked = Integer.parseInt(args[0]);
            List<String> workers = processorsOf("MMTk Worker");
            // A thread that a worker makes has the worker's name until it runs.
            for (int i = 0; i < 100 && workers.size() > asked; i++) {
                Thread.sleep(100);
                workers = processorsOf("MMTk Worker");
            }
            Check.equal(asked, workers.size(), "threads named as GC workers");

            String all = args.length > 1 ? args[1] : allowed(SELF);
            BitSet own = processors(all);
            // Where some of the machine's processors are not the process's, the choice is the system's.
            boolean bound = own.cardinality() > 1 && own.cardinality() == workers.size() && own.length() == workers.size();
            List<String> expected = IntStream.rangeClosed(0, workers.size() - 1)
                .mapToObj(i -> bound ? "" + i : all)
                .sorted()
                .collect(Collectors.toList());
            Check.equal(expected, workers, "the processors of GC workers");
        }

        /** What the system says of each thread whose name begins so, in order. */
        private static List<String> processorsOf(String name) throws IOException {
            try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
                return threads.filter(thread -> status("Name", thread).startsWith(name))
                    .map(GcThreads::allowed)
                    .sorted()
                    .collect(Collectors.toList());
            }
        }

    }

    /** The processors on which the system lets a thread run, as in 0-3,6. */
    private static String allowed(Path thread) {
        return status("Cpus_allowed_list", thread);
    }

    /** Those of such a list that are there. That of a virtual machine may name others. */
    private static BitSet processors(String list) throws IOException {
        BitSet there = numbers(Files.readString(Path.of("/sys/devices/system/cpu/online")).strip());
        there.and(numbers(list));
        return there;
    }

    private static BitSet numbers(String list) {
        BitSet found = new BitSet();
        for (String range : list.split(",")) {
            String[] ends = range.split("-");
            found.set(Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]) + 1);
        }
        return found;
    }

    private static String status(String key, Path thread) {
        try (Stream<String> lines = Files.lines(thread.resolve("status"))) {
            String prefix = key + ":\t";
            return lines.filter(line -> line.startsWith(prefix)).findFirst().get().substring(prefix.length());
        } catch (IOException | UncheckedIOException e) {
            return "a thread that has ended";
        }
    }
}
