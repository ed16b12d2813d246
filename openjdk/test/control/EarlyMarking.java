// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Where a collection leaves no page free, but cells on all of them, ConcurrentMarkSweep marks before they are used up.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main EarlyMarking
 */

import heap.Check;
import heap.Child;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;

public class EarlyMarking {
    /** So many collections, at most, pass until the plan knows how many of the free cells are of use. */
    private static final int LEARNT = 4;

    public static void main(String[] args) throws Exception {
        if (!Child.hasOwnPolicy()) {
            return;
        }
        List<String> log = Child.with("-Xms64m", "-Xmx64m", "-XX:ThirdPartyHeapOptions=plan=ConcurrentMarkSweep", "-Xlog:gc").main(Replaced.class).mustExitCleanly(0)
                .out().lines().filter(line -> line.matches(".*(Pause|the heap is full).*")).collect(Collectors.toList());
        List<String> later = log.stream().dropWhile(line -> !line.contains("GC(" + LEARNT + ")")).collect(Collectors.toList());
        Check.that(later.stream().filter(line -> line.contains("Pause Final Mark")).count() >= LEARNT, "there are few collections:\n" + String.join("\n", log));
        Check.that(later.stream().allMatch(line -> line.contains("Pause Init Mark") || line.contains("Pause Final Mark")), String.join("\n", log));
    }

    /** Replaces old objects all over the heap by new ones, so slowly that marking has the time. */
    public static class Replaced {
        private static final int OBJECTS = 1_200_000;
        private static final int A_MILLISECOND = 4096;
        private static final int REPLACED = 16_000_000;

        private static final class Cell {
            long value;
        }

        public static void main(String[] args) throws InterruptedException {
            Cell[] all = new Cell[OBJECTS];
            SplittableRandom random = new SplittableRandom(1);
            for (int i = 0; i < REPLACED; i++) {
                all[random.nextInt(OBJECTS)] = new Cell();
                if (i % A_MILLISECOND == 0) {
                    Thread.sleep(1);
                }
            }
        }
    }
}
