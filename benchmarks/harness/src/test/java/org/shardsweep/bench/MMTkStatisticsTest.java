// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.dacapo.harness.Callback;
import org.dacapo.harness.CommandLineArgs;
import org.dacapo.parser.Config;
import org.junit.jupiter.api.Test;

class MMTkStatisticsTest {
  /** Drives {@code callback} through its iterations, adding to {@code events}. */
  private static void drive(Callback callback, List<String> events) {
    callback.init(new Config("lusearch"));
    do {
      callback.start("lusearch");
      events.add("iteration");
      callback.stop(10);
      callback.complete("lusearch", true);
    } while (callback.runAgain());
  }

  @Test
  void bracketsTheTimedIterationOnly() throws Exception {
    List<String> events = new ArrayList<>();
    Consumer<String> command = events::add;
    drive(
        new MMTkStatistics(CommandLineArgs.parse(new String[] {"-n", "3", "lusearch"}), command),
        events);
    assertEquals(
        List.of("iteration", "iteration", "mmtkHarnessBegin", "iteration", "mmtkHarnessEnd"),
        events);
  }

  @Test
  void doesNothingWhereThereIsNoMmtk() throws Exception {
    List<String> events = new ArrayList<>();
    drive(new MMTkStatistics(CommandLineArgs.parse(new String[] {"lusearch"})), events);
    assertEquals(List.of("iteration"), events);
  }
}
