// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary -Xlog:gc prints one line a pause in HotSpot's form, numbered without gaps; the pauses that begin and end a concurrent marking
 * have one number. -Xlog:gc* and debug levels add to it (what the policy's part of the pause took, for one) and do no harm.
 * @library /lib
 * @run main LogFormat
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

public class LogFormat {
    private static final Pattern LINE = Pattern.compile(
            "\\[[0-9.]+s\\]\\[info *\\]\\[gc *\\] GC\\((\\d+)\\) Pause (Full|Young|Init Mark|Final Mark) \\(([^()]+(?:\\(\\))?)\\) (\\d+)M->(\\d+)M\\((\\d+)M\\) \\d+\\.\\d{3}ms");

    private static final boolean THIRD_PARTY = Child.optionsUnderTest().contains("-XX:+UseThirdPartyHeap");
    private static final boolean GENERATIONS = Child.hasGenerations();
    private static final boolean CONCURRENT = Child.marksConcurrently();
    private static final boolean OWN_POLICY = Child.hasOwnPolicy();
    private static final Pattern RELEASE = Pattern.compile("release \\d+\\.\\d{3}ms, \\d+ pages uncharged");
    private static final int LONGEST = 200;
    private static final Pattern EXCESS = Pattern.compile("\\d+ pages to be returned to the OS");

    public static void main(String[] args) throws Exception {
        List<Matcher> lines = Child.with("-Xmx64m", "-Xlog:gc").main(Main.class).mustExitCleanly(0).out().lines()
                .filter(line -> line.contains("Pause")).map(LINE::matcher).collect(Collectors.toList());
        check(lines);
        for (String log : List.of("-Xlog:gc*", "-Xlog:gc*=debug", "-Xlog:gc*=trace:file=gc.log", "-Xlog:safepoint*,gc+heap*=debug")) {
            Child.with("-Xmx64m", log).main(Main.class).mustExitCleanly(0);
        }
        String debug = Child.with("-Xmx64m", "-Xlog:gc=debug").main(Main.class).mustExitCleanly(0).out();
        long pauses = debug.lines().filter(line -> line.contains(" Pause ")).count();
        long marks = debug.lines().filter(line -> line.contains(" Pause Init Mark ")).count();
        for (Pattern line : List.of(RELEASE, EXCESS)) {
            // Where marking begins, nothing is released.
            long expected = line == RELEASE ? pauses - marks : pauses;
            Check.equal(OWN_POLICY ? expected : 0L, line.matcher(debug).results().count(), "lines about the policy's space: " + line);
        }
        for (Pattern line : List.of(RELEASE, EXCESS)) {
            debug.lines().filter(line.asPredicate())
                    .forEach(found -> Check.matches("\\] GC\\(\\d+\\) ", found, "the collection that a worker's line is about"));
        }
        String heap = Child.with("-Xmx64m", "-Xlog:gc+heap=debug").main(Main.class).mustExitCleanly(0).out();
        long tooLong = heap.lines().filter(line -> line.length() > LONGEST).count();
        Check.equal(0L, tooLong, "lines of more than " + LONGEST + " characters:\n" + heap);
        Check.equal(0L, Child.with("-Xmx64m").main(Main.class).mustExitCleanly(0).out().lines().count(), "lines printed without -Xlog");
    }

    private static void check(List<Matcher> lines) {
        boolean explicit = false;
        boolean byAllocation = false;
        boolean young = false;
        boolean marked = false;
        int number = -1;
        Check.that(lines.size() >= 4, "lines of collections: " + lines.size());
        for (int i = 0; i < lines.size(); i++) {
            Matcher line = lines.get(i);
            Check.that(line.matches(), "the form of line " + i + ": " + line);
            String kind = line.group(2);
            boolean full = kind.equals("Full");
            boolean ends = kind.equals("Final Mark");
            Check.equal(i > 0 && lines.get(i - 1).group(2).equals("Init Mark"), ends, "a marking that has begun ends next: line " + i);
            number += ends ? 0 : 1;
            Check.equal(number, Integer.parseInt(line.group(1)), "the number of a collection");
            boolean fits = kind.equals("Young") ? GENERATIONS : full || CONCURRENT;
            Check.that(!THIRD_PARTY || fits, "the kind of a collection: " + kind);
            Check.that(!THIRD_PARTY || full || !line.group(3).equals("System.gc()"), "a program that collects asks for all of the heap");
            young |= kind.equals("Young");
            marked |= ends;
            explicit |= line.group(3).equals("System.gc()");
            byAllocation |= line.group(3).equals("Allocation Failure");
            Check.that(Integer.parseInt(line.group(6)) <= 64, "the total size of the heap: " + line.group(6));
            Check.that(Integer.parseInt(line.group(4)) <= 64 && Integer.parseInt(line.group(5)) <= 64, "the used size");
        }
        Check.that(explicit && byAllocation, "both causes occur");
        Check.that(!GENERATIONS || young, "there are partial collections");
        Check.that(!CONCURRENT || marked, "there are collections that mark concurrently");
    }

    public static class Main {
        public static void main(String[] args) {
            Heap.churn(200 * Heap.MIB);
            System.gc();
            System.gc();
        }
    }
}
