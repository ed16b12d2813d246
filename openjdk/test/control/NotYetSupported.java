// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary What this heap does not have yet is refused by one clear line: heaps in files, other object alignments.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main NotYetSupported
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.util.List;

public class NotYetSupported {
    public static void main(String[] args) throws Exception {
        for (String option : List.of("-XX:AllocateHeapAt=.", "-XX:ObjectAlignmentInBytes=16")) {
            String name = option.replaceFirst("-XX:\\+?", "").replaceFirst("=.*", "");
            Child child = Child.with(option).main(Main.class).mustExitCleanly(1);
            List<String> lines = child.err().lines().filter(line -> !line.contains("warning: Option")).toList();
            Check.equal(1, lines.size(), "lines that refuse " + option + ": " + lines);
            Check.matches("Error: .*" + name + ".* not supported", lines.get(0), "the line for " + option);
            Check.equal("", child.out(), "standard output");
        }
    }

    public static class Main {
        public static void main(String[] args) {
            System.out.println("running");
            while (true) {
                Heap.churn(Heap.MIB);
            }
        }
    }
}
