// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary With -XX:+UseTransparentHugePages the kernel backs the heap with huge pages, by its own count; with - never.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main/othervm -Xms256m -Xmx256m -XX:+UseTransparentHugePages HugePages on
 * @run main/othervm -Xms256m -Xmx256m -XX:-UseTransparentHugePages HugePages off
 */
/*
 * @test
 * @summary Unasked, our mark-sweep space has huge pages if its heap is no small one.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "ms-.*"
 * @library /lib
 * @run main/othervm -Xms256m -Xmx256m HugePages on
 * @run main/othervm -Xms39m -Xmx39m HugePages off 20000
 */

import heap.Check;
import heap.Heap;
import heap.Smaps;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

public class HugePages {
    private static final Path SETTING = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
    private static final int LENGTH = 1000;

    public static void main(String[] args) throws Exception {
        if (!Files.exists(SETTING) || Files.readString(SETTING).contains("[never]")) {
            System.out.println("skipped: this kernel never gives transparent huge pages");
            return;
        }
        if (args[0].equals("off") && Files.readString(SETTING).contains("[always]")) {
            System.out.println("skipped: this kernel gives transparent huge pages unasked");
            return;
        }
        int arrays = args.length > 1 ? Integer.parseInt(args[1]) : 100_000;
        List<byte[]> live = new ArrayList<>();
        for (int i = 0; i < arrays; i++) {
            live.add(new byte[LENGTH]);
        }
        long huge = huge();
        System.out.println(huge + " bytes in huge pages");
        if (args[0].equals("on")) {
            // Half of what the arrays take: the kernel may lack adjacent memory for some of it.
            Check.that(huge >= arrays * (long) LENGTH / 2, "the heap is in huge pages: " + huge);
        } else {
            Check.equal(0L, huge, "bytes of the heap in huge pages");
        }
        Check.equal(arrays, live.size(), "arrays");
        Check.that(huge <= 256 * Heap.MIB, "huge pages lie in the heap");
    }

    /** Bytes of the heap in huge pages. */
    private static long huge() throws IOException, InterruptedException {
        return Smaps.sum("AnonHugePages", List.of(Smaps.heap()));
    }
}
