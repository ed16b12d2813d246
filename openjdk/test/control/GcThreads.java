// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary There are as many GC threads as -XX:ParallelGCThreads, the option threads or its environment variable say, and they collect.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main GcThreads
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

public class GcThreads {
    public static void main(String[] args) throws Exception {
        for (int threads : new int[] {1, 2, 8}) {
            Child.with("-Xmx48m", "-XX:ParallelGCThreads=" + threads).main(Main.class, "" + threads).mustExitCleanly(0);
        }
        Child.with("-Xmx48m").variable("MMTK_THREADS", "3").main(Main.class, "3").mustExitCleanly(0);
    }

    public static class Main {
        public static void main(String[] args) throws Exception {
            List<String> live = Stream.iterate(0, i -> i + 1).limit(20_000).map(i -> "live " + i).collect(Collectors.toList());
            Heap.churn(64 * Heap.MIB);
            Heap.collect(5);
            for (int i = 0; i < live.size(); i++) {
                Check.equal("live " + i, live.get(i), "a live string");
            }
            Check.equal(Long.parseLong(args[0]), workers(), "threads named as GC workers");
        }

        private static long workers() throws IOException {
            try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
                return threads.filter(thread -> nameOf(thread).startsWith("MMTk Worker")).count();
            }
        }

        private static String nameOf(Path thread) {
            try {
                return Files.readString(thread.resolve("comm"));
            } catch (IOException e) {
                return "a thread that has ended";
            }
        }
    }
}
