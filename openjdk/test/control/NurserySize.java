// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary StickyMarkSweep collects when half of the heap has been handed out, though the other half is free, or when the option nursery says.
 * @requires vm.opt.ThirdPartyHeapPlugin ~= "(.+libmmtk_)?ms-.*"
 * @library /lib
 * @run main NurserySize
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class NurserySize {
    private static final int HEAP_MIB = 256;
    /** What the VM allocates before the program, and threads ahead of what they use. */
    private static final int SLACK_MIB = 24;
    private static final int OBJECT_BYTES = 1000;

    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        comesAt(HEAP_MIB / 2, "");
        comesAt(48, ",nursery=Fixed:" + 48 * Heap.MIB);
        comesAt(HEAP_MIB, ",nursery=Fixed:" + 2 * HEAP_MIB * Heap.MIB);
    }

    /** The first collection comes when so much is in use. */
    private static void comesAt(int mib, String option) throws Exception {
        Child child = Child.with("-Xms" + HEAP_MIB + "m", "-Xmx" + HEAP_MIB + "m", "-Xlog:gc", "-XX:ThirdPartyHeapOptions=plan=StickyMarkSweep" + option);
        String first = child.main(Main.class).mustExitCleanly(0).lines("Pause").get(0);
        Matcher used = Pattern.compile("Allocation Failure\\) (\\d+)M->").matcher(first);
        Check.that(used.find(), first);
        int distance = Math.abs(Integer.parseInt(used.group(1)) - mib);
        Check.that(distance <= SLACK_MIB, "with '" + option + "': " + first);
    }

    public static class Main {
        public static void main(String[] args) {
            for (int allocated = 0; allocated < 2 * HEAP_MIB * Heap.MIB; allocated += OBJECT_BYTES) {
                sink = new byte[OBJECT_BYTES];
            }
        }
    }
}
