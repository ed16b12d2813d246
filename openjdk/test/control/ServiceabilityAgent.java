// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary jhsdb shows stacks and sizes of a JVM with the third-party heap, and says in one line that it cannot visit the objects.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main ServiceabilityAgent
 */

import heap.Check;
import heap.Child;
import heap.Tool;

public class ServiceabilityAgent {
    public static void main(String[] args) throws Exception {
        Child child = Child.with("-Xmx32m").main(Main.class).start();
        try {
            Check.eventually(() -> child.out().contains("ready"), "the start of the JVM that is looked at");
            check(Long.toString(child.pid()));
        } finally {
            child.kill();
        }
    }

    public static class Main {
        public static void main(String[] args) throws InterruptedException {
            System.gc();
            System.out.println("ready");
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    private static void check(String pid) throws InterruptedException {
        String heap = Tool.run(Tool.ofJdk("jhsdb"), "jmap", "--heap", "--pid", pid);
        Check.matches("^Third-party heap \\[0x[0-9a-f]+, 0x[0-9a-f]+\\)", heap, "the heap's addresses");
        Check.matches("^ +total += [1-9][0-9]* bytes", heap, "the heap's size");
        Check.matches("^ +used += [1-9][0-9]* bytes", heap, "what is in use");
        String stacks = Tool.run(Tool.ofJdk("jhsdb"), "jstack", "--pid", pid);
        Check.matches("ServiceabilityAgent\\$Main\\.main", stacks, "the stack of the main thread");
        String histogram = Tool.run(Tool.ofJdk("jhsdb"), "jmap", "--histo", "--pid", pid);
        Check.matches("^Error: the objects of a third-party heap cannot be visited", histogram, "what a histogram needs");
        Check.that(!histogram.contains("\tat "), "one line, not a stack:\n" + histogram);
    }
}
