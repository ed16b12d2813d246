// SPDX-License-Identifier: MIT OR Apache-2.0
package org.dacapo.harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.dacapo.parser.Config;
import org.junit.jupiter.api.Test;

class CallbackTest {
  /** Drives {@code callback} as the harness does, with the given durations and outcome. */
  private static List<String> drive(Callback callback, boolean valid, long... durations)
      throws Exception {
    Captured captured =
        Captured.of(
            () -> {
              callback.init(new Config("lusearch"));
              int i = 0;
              do {
                callback.start("lusearch");
                callback.stop(durations[i++]);
                callback.complete("lusearch", valid);
              } while (callback.runAgain());
              return i;
            });
    assertEquals(durations.length, captured.status(), "number of iterations");
    return Arrays.asList(captured.err().split(System.lineSeparator()));
  }

  private static Callback callback(String... args) throws Exception {
    return new Callback(CommandLineArgs.parse(args));
  }

  @Test
  void printsWhatDaCapoPrints() throws Exception {
    assertEquals(
        List.of(
            "===== DaCapo 9.12 lusearch starting warmup 1 =====",
            "===== DaCapo 9.12 lusearch completed warmup 1 in 30 msec =====",
            "===== DaCapo 9.12 lusearch starting warmup 2 =====",
            "===== DaCapo 9.12 lusearch completed warmup 2 in 20 msec =====",
            "===== DaCapo 9.12 lusearch starting =====",
            "===== DaCapo 9.12 lusearch PASSED in 10 msec ====="),
        drive(callback("-n", "3", "lusearch"), true, 30, 20, 10));
  }

  @Test
  void failuresAreNotCalledPassed() throws Exception {
    List<String> lines = drive(callback("-n", "2", "lusearch"), false, 5, 5);
    assertEquals("===== DaCapo 9.12 lusearch FAILED warmup =====", lines.get(1));
    assertEquals("===== DaCapo 9.12 lusearch FAILED =====", lines.get(3));
  }

  @Test
  void oneIterationIsTimed() throws Exception {
    Callback callback = callback("lusearch");
    drive(callback, true, 7);
    assertFalse(callback.isWarmup());
  }

  @Test
  void aCallbackServesSeveralBenchmarks() throws Exception {
    Callback callback = callback("-n", "2", "lusearch");
    assertEquals(drive(callback, true, 9, 9), drive(callback, true, 9, 9));
  }

  @Test
  void convergenceEndsWithATimedIteration() throws Exception {
    String[] args = {"-C", "--window", "2", "--variance", "5", "lusearch"};
    List<String> lines = drive(callback(args), true, 100, 50, 49, 48);
    assertEquals("===== DaCapo 9.12 lusearch PASSED in 48 msec =====", lines.get(7));
  }

  @Test
  void lackOfConvergenceIsSaid() throws Exception {
    String[] args = {"-C", "--window", "2", "--max-iterations", "3", "lusearch"};
    List<String> lines = drive(callback(args), true, 10, 20, 40);
    assertEquals("Benchmark failed to converge.", lines.get(6));
  }

  @Test
  void coefficientOfVariation() {
    assertEquals(0, TestHarness.coefficientOfVariation(new long[] {4, 4, 4}));
    assertEquals(0.5, TestHarness.coefficientOfVariation(new long[] {1, 3}), 1e-12);
    assertEquals(0, TestHarness.coefficientOfVariation(new long[] {0, 0}));
  }

  /** The forms of {@code stop} that callbacks override: one each in DaCapo 9.12 and 23.11. */
  @Test
  void bothFormsOfStopAreCalledOnce() throws Exception {
    List<String> calls = new ArrayList<>();
    CommandLineArgs args = CommandLineArgs.parse("lusearch");
    Callback old =
        new Callback(args) {
          @Override
          public void stop() {
            super.stop();
            calls.add("old " + elapsed);
          }
        };
    Callback recent =
        new Callback(args) {
          @Override
          public void stop(long duration) {
            super.stop(duration);
            calls.add("recent " + elapsed);
          }
        };
    drive(old, true, 3);
    drive(recent, true, 4);
    assertEquals(List.of("old 3", "recent 4"), calls);
  }
}
