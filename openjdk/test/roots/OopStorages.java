// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary All GC workers look through the strong OopStorages, and as many as it is worth through the weak ones: together they come to
 * each block of a storage once.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main OopStorages
 */

import heap.Check;
import heap.Child;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

public class OopStorages {
    private static final int WORKERS = 4;
    /** What a worker says of a storage when nothing is left for it. */
    private static final Pattern PART = Pattern.compile("Parallel iteration on (.*): blocks = (\\d+), processed = (\\d+) ");
    private static final String STRONG = "JNI Global";
    private static final String WEAK = "StringTable Weak";

    public static void main(String[] args) throws Exception {
        String log = Child.with("-Xmx64m", "-XX:ParallelGCThreads=" + WORKERS, "-Xlog:gc,oopstorage+blocks+stats").main(Main.class)
                .mustExitCleanly(0).out();
        Map<String, List<Matcher>> parts = new HashMap<>();
        int pauses = 0;
        for (String line : log.lines().collect(Collectors.toList())) {
            Matcher part = PART.matcher(line);
            if (part.find()) {
                parts.computeIfAbsent(part.group(1), name -> new ArrayList<>()).add(part);
            } else if (line.contains(" Pause ")) {
                if (line.contains("System.gc()")) {
                    check(parts);
                    pauses++;
                }
                parts.clear();
            }
        }
        Check.equal(2, pauses, "collections that the program asks for");
    }

    private static void check(Map<String, List<Matcher>> parts) {
        Check.that(parts.keySet().containsAll(List.of(STRONG, WEAK)), "storages: " + parts.keySet());
        parts.forEach((name, ofStorage) -> {
            long blocks = Long.parseLong(ofStorage.get(0).group(2));
            long processed = ofStorage.stream().mapToLong(part -> Long.parseLong(part.group(3))).sum();
            Check.that(processed == blocks || processed == 2 * blocks, "blocks of " + name + ", in one scan or two: " + processed + " of " + blocks);
        });
        Check.equal(0, parts.get(STRONG).size() % WORKERS, "parts of " + STRONG);
        Check.that(Long.parseLong(parts.get(WEAK).get(0).group(2)) > 100, "blocks of " + WEAK);
    }

    public static class Main {
        public static void main(String[] args) {
            List<String> kept = new ArrayList<>();
            for (int i = 0; i < 20_000; i++) {
                kept.add(("string " + i).intern());
            }
            System.gc();
            System.gc();
            Check.equal(20_000, kept.size(), "strings");
        }
    }
}
