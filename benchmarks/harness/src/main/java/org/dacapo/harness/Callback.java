// SPDX-License-Identifier: MIT OR Apache-2.0
package org.dacapo.harness;

import java.util.Locale;
import org.dacapo.harness.CommandLineArgs.Methodology;
import org.dacapo.parser.Config;

/**
 * Brackets the iterations of a benchmark, decides how many there are, and announces them.
 *
 * <p>The class has the name, the constructor and the overridable methods of DaCapo 9.12 (and those
 * that 23.11 adds), so that callbacks compiled against DaCapo load here. Per benchmark the harness
 * calls {@link #init}, then for each iteration {@link #start}, {@link #stop(long)}, {@link
 * #complete} and {@link #runAgain}.
 */
public class Callback {
  /** Whether the current iteration is the one whose time is reported. */
  protected enum Mode {
    WARMUP,
    TIMING
  }

  /** The command line. */
  protected final CommandLineArgs args;

  /** Mode of the current iteration. */
  protected Mode mode;

  /** Number of warm-up iterations completed. */
  protected int iterations;

  /** Durations of the latest iterations, in milliseconds; null unless run until convergence. */
  protected long[] times;

  /** Duration of the latest iteration in milliseconds. */
  protected long elapsed;

  /** Creates a callback; subclasses must have a public constructor with this one parameter. */
  public Callback(CommandLineArgs args) {
    this.args = args;
    if (args.getMethodology() == Methodology.CONVERGE) {
      times = new long[args.getWindow()];
    }
  }

  /** Called once per benchmark, before its first iteration. */
  public void init(Config config) {
    iterations = 0;
    boolean single = args.getMethodology() == Methodology.ITERATE && args.getIterations() == 1;
    mode = single ? Mode.TIMING : Mode.WARMUP;
  }

  /**
   * Called after each iteration: whether another one follows. The last one is the timed one. A
   * series that does not converge within the maximum ends without one.
   */
  public boolean runAgain() {
    if (!isWarmup()) {
      return false;
    }
    iterations++;
    if (args.getMethodology() == Methodology.ITERATE) {
      if (iterations == args.getIterations() - 1) {
        mode = Mode.TIMING;
      }
      return true;
    }
    times[(iterations - 1) % times.length] = elapsed;
    if (iterations >= times.length && converged()) {
      mode = Mode.TIMING;
      return true;
    }
    if (iterations >= args.getMaxIterations()) {
      System.err.println("Benchmark failed to converge.");
      return false;
    }
    return true;
  }

  private boolean converged() {
    double variation = TestHarness.coefficientOfVariation(times);
    if (args.getVerbose()) {
      System.err.printf(
          Locale.ROOT,
          "Variation %.2f%% after %d iterations, target %.2f%%%n",
          variation * 100,
          iterations,
          args.getTargetVar() * 100);
    }
    return variation <= args.getTargetVar();
  }

  /** Whether the current iteration is a warm-up, not the timed one. */
  public boolean isWarmup() {
    return mode == Mode.WARMUP;
  }

  /** Called immediately before an iteration; announces it. */
  public void start(String benchmark) {
    start(benchmark, isWarmup());
  }

  /** Announces the start of an iteration. */
  protected void start(String benchmark, boolean warmup) {
    announce(benchmark, warmup ? "starting warmup " + (iterations + 1) : "starting");
  }

  /**
   * Called immediately after an iteration that took {@code duration} milliseconds, before its
   * results are checked.
   */
  public void stop(long duration) {
    elapsed = duration;
    stop();
  }

  /**
   * The older form of {@link #stop(long)}, which calls it: callbacks of DaCapo 9.12 override this
   * one, later ones the other.
   */
  public void stop() {}

  /** Called when the results of an iteration have been checked; announces the outcome. */
  public void complete(String benchmark, boolean valid) {
    complete(benchmark, valid, isWarmup());
  }

  /** Announces the outcome of an iteration. */
  protected void complete(String benchmark, boolean valid, boolean warmup) {
    if (!valid) {
      announce(benchmark, warmup ? "FAILED warmup" : "FAILED");
    } else {
      String outcome = warmup ? "completed warmup " + (iterations + 1) : "PASSED";
      announce(benchmark, outcome + " in " + elapsed + " msec");
    }
  }

  private static void announce(String benchmark, String event) {
    System.err.println(
        "===== DaCapo " + TestHarness.getBuildVersion() + " " + benchmark + " " + event + " =====");
    System.err.flush();
  }

  /** Called, within an iteration, before the first query. */
  public void requestsStarting() {}

  /** Called, within an iteration, after the last query. */
  public void requestsFinished() {}
}
