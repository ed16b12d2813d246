// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Where no addresses are left for a large object, memory runs out, also of a heap that may still grow: collections do not follow each other for ever.
 * @requires vm.opt.ThirdPartyHeapPlugin == "stock"
 * @library /lib
 * @build FewAddresses
 * @run main NoAddresses
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.util.List;

public class NoAddresses {
    public static void main(String[] args) throws Exception {
        Child child = Child.with("-Xms64m", "-Xmx1g", "-Xlog:gc").main(Main.class).inAddressSpace(FewAddresses.ADDRESS_SPACE_KIB).mustExitCleanly(0);
        Check.that(child.count("Pause") < 100, child.count("Pause") + " collections");
    }

    /** Has few objects live, far apart, and needs room for a large one. */
    public static class Main {
        static volatile Object sink;

        public static void main(String[] args) {
            List<byte[]> few = FewAddresses.Main.fill(FewAddresses.LONELY);
            try {
                sink = new byte[340 * Heap.MIB];
                throw new AssertionError("there were addresses beside " + few.size() + " arrays");
            } catch (OutOfMemoryError e) {
                System.out.println(e);
            }
            sink = new byte[FewAddresses.LONELY];
        }
    }
}
