// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary What a program or the VM asks for is the cause of a collection of the whole heap alone, also where other threads allocate and
 *     partial collections come between; and a program's request does not hide that of the VM.
 * @requires vm.opt.UseThirdPartyHeap == "true"
 * @library /lib
 * @run main CauseOfFull
 */

import heap.Check;
import heap.Child;
import heap.Heap;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

public class CauseOfFull {
    private static final Pattern OTHER = Pattern.compile("Pause (Young|Init Mark|Final Mark) \\((?!Allocation Failure).*");
    private static final String PARTIAL = "Pause (Young|Init Mark) \\(Allocation Failure";
    private static final int LOADERS = 2000;

    public static void main(String[] args) throws Exception {
        if (Child.hasOwnPolicy()) {
            check("plan=StickyMarkSweep", "System.gc()");
            check("plan=ConcurrentMarkSweep", "System.gc()");
        }
        check("ignore_system_gc=true", "Metadata GC Threshold");
    }

    private static void check(String heapOptions, String cause) throws Exception {
        Child child = Child.with("-Xmx32m", "-Xlog:gc", "-XX:MetaspaceSize=4m", "-XX:ThirdPartyHeapOptions=" + heapOptions).main(Main.class, heapOptions);
        String out = child.mustExitCleanly(0).out();
        List<String> others = OTHER.matcher(out).results().map(MatchResult::group).collect(Collectors.toList());
        Check.equal(List.of(), others, "collections that are not full and have such a cause");
        Check.that(out.contains("Pause Full (" + cause + ")"), "with " + heapOptions + " there is no collection for " + cause);
        if (heapOptions.startsWith("plan")) {
            Check.matches(PARTIAL, out, "a collection that is not full comes between");
        }
        Check.that(heapOptions.startsWith("plan") || !out.contains("System.gc()"), "a request that is to be ignored is none by name");
    }

    /** Classes that die, while other threads allocate and ask for collections. */
    public static class Main {
        public static void main(String[] args) throws Exception {
            // A full heap has classes unloaded, too: that of the last case has to be full of classes alone.
            boolean allocates = args[0].startsWith("plan");
            for (int i = 0; i < 4; i++) {
                boolean asks = i % 2 == 0;
                Thread thread = new Thread(() -> {
                    while (true) {
                        if (allocates) {
                            // Other collections come between two requests.
                            Heap.churn(asks ? 32 * Heap.MIB : 64 << 10);
                        }
                        if (asks) {
                            System.gc();
                        }
                    }
                });
                thread.setDaemon(true);
                thread.start();
            }
            URL here = CauseOfFull.class.getProtectionDomain().getCodeSource().getLocation();
            for (int i = 0; i < LOADERS; i++) {
                try (URLClassLoader loader = new URLClassLoader(new URL[] {here}, null)) {
                    Class.forName("CauseOfFull$Main", true, loader);
                }
            }
        }
    }
}
