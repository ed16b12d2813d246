// SPDX-License-Identifier: MIT OR Apache-2.0
package heap;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the kernel says of this process's memory, mapping by mapping. */
public final class Smaps {
    private static final Pattern HEADER = Pattern.compile("^([0-9a-f]+)-([0-9a-f]+) ");

    private Smaps() {}

    /** Bytes of a field, as {@code Rss}, of all mappings that lie in one of the ranges, as {@link #range} makes them. */
    public static long sum(String field, List<long[]> ranges) throws IOException {
        long sum = 0;
        boolean inside = false;
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
            Matcher header = HEADER.matcher(line);
            if (header.find()) {
                long[] mapping = range(header);
                inside = ranges.stream().anyMatch(range -> range[0] <= mapping[0] && mapping[1] <= range[1]);
            } else if (inside && line.startsWith(field + ":")) {
                sum += Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
            }
        }
        return sum;
    }

    /** The addresses of the heap. */
    public static long[] heap() throws IOException, InterruptedException {
        Matcher ends = Pattern.compile("\\[0x([0-9a-f]+), 0x([0-9a-f]+)\\)").matcher(Tool.jcmd("GC.heap_info"));
        Check.that(ends.find(), "the heap has addresses");
        return range(ends);
    }

    /** The addresses in the first two groups of a match. */
    public static long[] range(MatchResult ends) {
        return new long[] {Long.parseUnsignedLong(ends.group(1), 16), Long.parseUnsignedLong(ends.group(2), 16)};
    }
}
