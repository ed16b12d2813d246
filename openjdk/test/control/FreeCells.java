// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Where a collection leaves no page free, but cells on all of them, ConcurrentMarkSweep marks before those are used up,
 *          and StickyMarkSweep sees that its partial collections leave few.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main FreeCells
 */

import heap.Check;
import heap.Child;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;

public class FreeCells {
    /** So many collections, at most, pass until the plan knows how many of the free cells are of use. */
    private static final int LEARNT = 4;

    public static void main(String[] args) throws Exception {
        List<String> log = run("ConcurrentMarkSweep", Slowly.class).lines("Pause|the heap is full");
        List<String> later = log.stream().dropWhile(line -> !line.contains("GC(" + LEARNT + ")")).collect(Collectors.toList());
        long marked = count(later, "Pause Final Mark");
        Check.that(marked >= LEARNT, "there are few collections:\n" + String.join("\n", log));
        long late = count(later, "the heap is full while marking runs");
        Check.that(count(later, "Pause Init Mark") + marked + late == later.size(), String.join("\n", log));
        // A busy machine has one take twice as long as the last one, now and then. Pacing then makes room for the next.
        Check.that(2 * late < marked, "marking is late most often:\n" + String.join("\n", log));

        Child child = run("StickyMarkSweep", Fast.class);
        Check.that(0 < child.count("Pause Young") && 2 * child.count("Pause Young") < child.count("Pause Full"), child.toString());
    }

    private static Child run(String plan, Class<?> main) throws Exception {
        return Child.with("-Xms64m", "-Xmx64m", "-XX:ThirdPartyHeapOptions=plan=" + plan, "-Xlog:gc").main(main).mustExitCleanly(0);
    }

    private static long count(List<String> log, String what) {
        return log.stream().filter(line -> line.contains(what)).count();
    }

    private static final class Cell {
        long value;
    }

    /** Replaces old objects all over the heap by new ones, and waits a millisecond after every so many. */
    private static void replace(int objects, int waits) throws InterruptedException {
        Cell[] all = new Cell[1_200_000];
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < objects; i++) {
            all[random.nextInt(all.length)] = new Cell();
            if (i % waits == 0) {
                Thread.sleep(1);
            }
        }
    }

    /** So slowly that marking has the time. */
    public static class Slowly {
        public static void main(String[] args) throws InterruptedException {
            replace(16_000_000, 4096);
        }
    }

    public static class Fast {
        public static void main(String[] args) throws InterruptedException {
            replace(40_000_000, Integer.MAX_VALUE);
        }
    }
}
