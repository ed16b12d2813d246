// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary -Xlog:gc+phases shows the parts of each pause with its number: in the order in which they are, no longer than the pause in
 * sum, and of all pauses a good part. With gc+phases=debug, the kinds of roots and of references stand below the two. Without
 * either, nothing of the kind is printed.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main Phases
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

public class Phases {
    private static final Pattern PHASE = Pattern.compile("\\[gc,phases *\\] GC\\((\\d+)\\) (.*) (\\d+\\.\\d{3})ms");
    private static final Pattern PAUSE = Pattern.compile("\\[gc *\\] GC\\((\\d+)\\) (Pause .*) (\\d+\\.\\d{3})ms");

    /** In front of the pause. */
    private static final String STOP = "Stop";
    /** At the level debug, behind the part that they are kinds of. */
    private static final Map<String, List<String>> KINDS = Map.of(
            "Roots", List.of("  Class Loader Data", "  Code Cache", "  OopStorages", "  VM Thread", "  Threads"),
            "References", List.of("  Soft", "  Weak", "  Final", "  Phantom"));
    /** HotSpot's own, parts of class unloading. */
    private static final List<String> NESTED = List.of("ClassLoaderData", "Trigger cleanups");
    private static final List<String> INITIAL_MARK = List.of("Prepare", "Roots", "Mark", "Finish");
    /** Of all other pauses. */
    private static final List<String> COMPLETE =
            List.of("Prepare", "Roots", "Mark", "References", "Weak Roots", "Release", "Finish");
    private static final List<String> SOMETIMES = List.of("Class Unloading", "Forward", "Fix Compiled Code");

    /** The part of all pauses that their phases make up at least. */
    private static final double LEAST_PART = 0.5;

    /** Each number is rounded to a microsecond. */
    private static final double ROUNDING = 0.001;

    public static void main(String[] args) throws Exception {
        check("-Xlog:gc,gc+phases", false);
        check("-Xlog:gc,gc+phases=debug", true);
        String without = Child.with("-Xmx64m", "-Xlog:gc").main(Main.class).mustExitCleanly(0).out();
        Check.that(!without.contains("Roots") && !without.contains("phases"), "phases that were not asked for: " + without);
    }

    private static void check(String option, boolean hasKinds) throws Exception {
        String log = Child.with("-Xmx64m", option).main(Main.class).mustExitCleanly(0).out();
        List<Map<String, Double>> unloading = new ArrayList<>();
        int pauses = 0;
        double inPhases = 0;
        double inPauses = 0;
        Map<String, Double> phases = new LinkedHashMap<>();
        int number = -1;
        for (String line : log.lines().collect(Collectors.toList())) {
            Matcher phase = PHASE.matcher(line);
            Matcher pause = PAUSE.matcher(line);
            if (phase.find()) {
                Check.that(phases.isEmpty() || Integer.parseInt(phase.group(1)) == number, "the number of " + line);
                number = Integer.parseInt(phase.group(1));
                Check.equal(null, phases.put(phase.group(2), Double.valueOf(phase.group(3))), "the phase is there once: " + line);
            } else if (pause.find()) {
                Check.equal(number, Integer.parseInt(pause.group(1)), "the phases of " + line);
                double milliseconds = Double.parseDouble(pause.group(3));
                inPhases += check(phases, hasKinds, pause.group(2), milliseconds);
                inPauses += milliseconds;
                if (phases.containsKey("Class Unloading")) {
                    unloading.add(phases);
                }
                phases = new LinkedHashMap<>();
                pauses++;
            }
            Check.that(!line.contains("gc,phases") || line.contains("GC("), "a line has a number: " + line);
        }
        Check.that(pauses >= 4, "pauses: " + pauses);
        Check.that(inPhases >= LEAST_PART * inPauses, "of " + inPauses + " ms in pauses " + inPhases + " are in phases");
        Check.that(unloading.size() >= 2, "System.gc() unloads classes: " + unloading.size());
    }

    /** Checks the phases of a pause, and returns their sum. */
    private static double check(Map<String, Double> phases, boolean hasKinds, String pause, double milliseconds) {
        List<String> names = new ArrayList<>(phases.keySet());
        Check.equal(STOP, names.remove(0), "what lies in front of a pause");
        names.removeAll(NESTED);
        KINDS.forEach((part, kinds) -> {
            int behind = names.indexOf(part) + 1;
            if (hasKinds && behind > 0) {
                List<String> found = names.subList(behind, Math.min(behind + kinds.size(), names.size()));
                Check.equal(kinds, found, "the kinds of " + part);
                found.clear();
            }
        });
        double sum = names.stream().mapToDouble(phases::get).sum();
        Check.that(sum <= milliseconds + ROUNDING * (names.size() + 1), "the sum of the phases, " + sum + ", is in the pause: " + milliseconds);
        names.removeAll(SOMETIMES);
        Check.equal(pause.startsWith("Pause Init Mark") ? INITIAL_MARK : COMPLETE, names, "the phases of " + pause);
        return sum;
    }

    public static class Main {
        private static final List<Object> kept = new ArrayList<>();

        public static void main(String[] args) {
            for (int i = 0; i < 1000; i++) {
                kept.add(new WeakReference<>(new Object()));
                kept.add(new SoftReference<>(new Object()));
            }
            Heap.churn(200 * Heap.MIB);
            System.gc();
            System.gc();
        }
    }
}
