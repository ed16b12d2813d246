// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary With -XX:+UseTransparentHugePages the kernel backs the heap with huge pages, by its own count; otherwise never.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/othervm -Xms256m -Xmx256m -XX:+UseTransparentHugePages HugePages on
 * @run main/othervm -Xms256m -Xmx256m HugePages off
 */

import heap.Check;
import heap.Heap;
import heap.Smaps;
import heap.Tool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class HugePages {
    private static final Path SETTING = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
    private static final int ARRAYS = 100_000;
    private static final int LENGTH = 1000;
    /** Half of what the arrays take: the kernel may lack adjacent memory for some of it. */
    private static final long LEAST = ARRAYS * (long) LENGTH / 2;

    public static void main(String[] args) throws Exception {
        if (!Files.exists(SETTING) || Files.readString(SETTING).contains("[never]")) {
            System.out.println("skipped: this kernel never gives transparent huge pages");
            return;
        }
        if (args[0].equals("off") && Files.readString(SETTING).contains("[always]")) {
            System.out.println("skipped: this kernel gives transparent huge pages unasked");
            return;
        }
        List<byte[]> live = new ArrayList<>();
        for (int i = 0; i < ARRAYS; i++) {
            live.add(new byte[LENGTH]);
        }
        long huge = huge();
        System.out.println(huge + " bytes in huge pages");
        if (args[0].equals("on")) {
            Check.that(huge >= LEAST, "the heap is in huge pages: " + huge);
        } else {
            Check.equal(0L, huge, "bytes of the heap in huge pages");
        }
        Check.equal(ARRAYS, live.size(), "arrays");
        Check.that(huge <= 256 * Heap.MIB, "huge pages lie in the heap");
    }

    /** Bytes of the heap in huge pages. */
    private static long huge() throws IOException, InterruptedException {
        Matcher range = Pattern.compile("\\[0x([0-9a-f]+), 0x([0-9a-f]+)\\)").matcher(Tool.jcmd("GC.heap_info"));
        Check.that(range.find(), "the heap has addresses");
        return Smaps.sum("AnonHugePages", List.of(Smaps.range(range)));
    }
}
