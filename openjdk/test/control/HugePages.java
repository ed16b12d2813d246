// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary -XX:+UseTransparentHugePages has the kernel use huge pages for the heap.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/othervm -Xmx64m -XX:+UseTransparentHugePages HugePages true
 * @run main/othervm -Xmx64m -XX:-UseTransparentHugePages HugePages false
 */

import heap.Check;
import heap.Tool;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class HugePages {
    private static final Pattern HEAP = Pattern.compile("used \\d+K \\[0x([0-9a-f]+), 0x([0-9a-f]+)\\)");
    private static final Pattern MAPPING = Pattern.compile("^([0-9a-f]+)-([0-9a-f]+) ");

    public static void main(String[] args) throws Exception {
        Path enabled = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
        // In mode "always" advice is not needed, in mode "never" HotSpot turns the flag off.
        boolean byAdvice = Files.exists(enabled) && Files.readString(enabled).contains("[madvise]");
        Check.equal(byAdvice && Boolean.parseBoolean(args[0]), advised() > 0, "mappings of the heap that are advised to be huge");
    }

    /** How many mappings in the heap's addresses have the kernel's flag hg. */
    private static int advised() throws Exception {
        Matcher heap = HEAP.matcher(Tool.jcmd("GC.heap_info"));
        Check.that(heap.find(), "GC.heap_info has the heap's addresses");
        long start = Long.parseLong(heap.group(1), 16);
        long end = Long.parseLong(heap.group(2), 16);
        boolean inside = false;
        int count = 0;
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
            Matcher mapping = MAPPING.matcher(line);
            if (mapping.find()) {
                long at = Long.parseUnsignedLong(mapping.group(1), 16);
                inside = start <= at && at < end;
            } else if (inside && line.startsWith("VmFlags:") && line.contains(" hg")) {
                count++;
            }
        }
        return count;
    }
}
