// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary With -XX:+AlwaysPreTouch the heap of -Xms is resident before it is used, and stays so.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main/othervm -Xms128m -Xmx256m -XX:+AlwaysPreTouch PreTouch 128
 * @run main/othervm -Xms128m -Xmx256m -XX:+AlwaysPreTouch -XX:-UseTransparentHugePages PreTouch 128
 * @run main/othervm -Xms128m -Xmx256m -XX:-AlwaysPreTouch PreTouch 0
 */

import heap.Check;
import heap.Heap;
import heap.Smaps;
import heap.Tool;
import java.util.List;

public class PreTouch {
    /** What this program and the VM's start allocate, and what may be resident besides. */
    private static final long OWN = 24 * Heap.MIB;

    public static void main(String[] args) throws Exception {
        long expected = Long.parseLong(args[0]) * Heap.MIB;
        check("at the start", expected);
        Tool.jcmd("GC.run");
        check("after a collection", expected);
    }

    private static void check(String when, long expected) throws Exception {
        long resident = Smaps.sum("Rss", List.of(Smaps.heap()));
        System.out.println(when + ": " + resident + " bytes");
        Check.that(expected <= resident && resident <= expected + OWN, when + " " + resident + " bytes are resident");
    }
}
