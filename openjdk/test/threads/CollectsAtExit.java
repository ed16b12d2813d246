// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary An agent that is told of the VM's end allocates eight times the heap: until then, collections run.
 * @library /lib
 * @run main/native CollectsAtExit
 */

import heap.Check;
import heap.Child;

public class CollectsAtExit {
    public static void main(String[] args) throws Exception {
        String agent = "-agentpath:" + System.getProperty("test.nativepath") + "/libCollectsAtExit.so";
        for (String way : new String[] {"return", "exit"}) {
            Child child = Child.with("-Xmx32m", agent).main(Main.class, way).mustExitCleanly(0);
            Check.that(child.out().contains("allocated at the end: 256 MiB"), way + ":\n" + child);
        }
    }

    public static class Main {
        public static void main(String[] args) {
            if (args[0].equals("exit")) {
                System.exit(0);
            }
        }
    }
}
