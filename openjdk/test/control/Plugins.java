// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * @test
 * @summary Without a flag the plugin is ms-64k and the plan MarkSweep. A plugin can be named by its build, or by a path.
 * @requires vm.opt.ThirdPartyHeapPlugin == "ms-64k"
 * @library /lib
 * @run main Plugins
 */

import heap.Check;
import heap.Child;
import java.nio.file.Path;

public class Plugins {
    public static void main(String[] args) throws Exception {
        runs("ms-64k", "MarkSweep");
        Path folder = Path.of(System.getProperty("java.home"), "lib", "mmtk");
        runs("stock", "MarkSweep", "-XX:ThirdPartyHeapPlugin=stock");
        runs("stock", "Immix", "-XX:ThirdPartyHeapPlugin=" + folder.resolve("libmmtk_stock.so"), "-XX:ThirdPartyHeapOptions=plan=Immix");
    }

    private static void runs(String plugin, String plan, String... options) throws Exception {
        String out = Child.withOnly("-XX:+UseThirdPartyHeap", "-Xmx64m", "-Xlog:gc+init").and(options).and("-version").mustExitCleanly(0).out();
        Check.matches("Plugin: " + plugin + "\\b", out, "the plugin");
        Check.matches("Plan: " + plan + "$", out, "the plan");
    }
}
