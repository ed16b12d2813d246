// SPDX-License-Identifier: MIT OR Apache-2.0
package org.dacapo.harness;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.dacapo.parser.Config;
import org.shardsweep.bench.Digests;
import org.shardsweep.bench.Program;
import org.shardsweep.bench.Workload;

/** Runs the benchmarks that the command line names, and turns the outcome into an exit status. */
public final class TestHarness {
  /** Exit status when an iteration could not be run to its end. */
  static final int EXIT_ERROR = 255;

  /** Exit status when an iteration had wrong results. */
  static final int EXIT_INVALID = 254;

  private static final String VERSION = "9.12";

  private final CommandLineArgs args;
  private final List<String> report = new ArrayList<>();

  private TestHarness(CommandLineArgs args) {
    this.args = args;
  }

  /** The release of DaCapo whose command line and output this is; part of what is printed. */
  public static String getBuildVersion() {
    return VERSION;
  }

  /** Runs {@code args}; exits with a status other than 0 when something is wrong. */
  public static void main(String[] args) {
    int status = EXIT_ERROR;
    // Initializes the classes of an exit, which can fail once memory has run out: the status gets lost then.
    Runtime.getRuntime().removeShutdownHook(Thread.currentThread());
    try {
      status = run(args);
    } catch (UsageException e) {
      status = e.status();
      System.err.println(e.getMessage());
    } catch (Throwable e) {
      e.printStackTrace();
    } finally {
      // Printing can fail too, when memory has run out: the status has to get through even so.
      if (status != 0) {
        System.exit(status);
      }
    }
  }

  /**
   * Runs {@code args} and returns the exit status.
   *
   * @throws UsageException when the command line is wrong
   * @throws Exception what a benchmark, or a callback, failed with
   */
  static int run(String... args) throws Exception {
    CommandLineArgs parsed = CommandLineArgs.parse(args);
    Map<String, Program> programs = new TreeMap<>();
    Program.all().forEach(program -> programs.put(program.name(), program));
    String names = String.join(" ", programs.keySet());
    if (parsed.help()) {
      CommandLineArgs.printHelp();
      return 0;
    }
    if (parsed.list()) {
      System.out.println(names);
      return 0;
    }
    if (parsed.benchmarks().isEmpty()) {
      throw new UsageException(
          UsageException.MISSING_BENCHMARKS, "no benchmark given: choose from " + names);
    }
    for (String name : parsed.benchmarks()) {
      if (!programs.containsKey(name)) {
        throw new UsageException(
            UsageException.UNKNOWN_BENCHMARK,
            "unknown benchmark '" + name + "': choose from " + names);
      }
    }
    return new TestHarness(parsed).runAll(programs);
  }

  private int runAll(Map<String, Program> programs) throws Exception {
    Callback callback = args.newCallback();
    boolean valid = true;
    for (String name : args.benchmarks()) {
      boolean passed = runBenchmark(programs.get(name), callback);
      if (!passed) {
        System.err.println("Validation FAILED for " + name + " " + args.getSize());
      }
      valid &= passed;
    }
    if (args.validationReport() != null) {
      writeReport(args.validationReport());
    }
    return valid || args.getIgnoreValidation() ? 0 : EXIT_INVALID;
  }

  private boolean runBenchmark(Program program, Callback callback) throws Exception {
    Path root = Path.of(args.getScratchDir());
    Program.Setting setting =
        new Program.Setting(root, args.getPreserve(), args.size(), args.threads());
    try (Workload workload = program.open(setting)) {
      if (args.getVerbose()) {
        System.err.printf(
            "%s: size %s, %d threads, files below %s%n",
            program.name(), args.getSize(), args.threads(), root);
      }
      callback.init(new Config(program.name()));
      boolean valid = true;
      do {
        valid &= iterate(program.name(), workload, callback);
      } while (callback.runAgain());
      if (args.validationReport() != null) {
        report.addAll(workload.results().lines());
      }
      return valid;
    }
  }

  private boolean iterate(String name, Workload workload, Callback callback) throws Exception {
    workload.prepare();
    if (args.getPreIterationGC()) {
      System.gc();
    }
    callback.start(name);
    long begin = System.nanoTime();
    callback.requestsStarting();
    workload.run();
    callback.requestsFinished();
    callback.stop((System.nanoTime() - begin) / 1_000_000);
    boolean valid = !args.getValidate() || validate(name, workload.results());
    callback.complete(name, valid);
    return valid;
  }

  private static boolean validate(String name, Digests results) throws IOException {
    List<String> wrong = results.differences(Digests.recorded(name));
    for (String each : wrong) {
      System.err.println("wrong digest: " + each);
    }
    return wrong.isEmpty();
  }

  private void writeReport(Path file) throws UsageException {
    try {
      Files.write(file, report);
    } catch (IOException e) {
      throw new UsageException(
          UsageException.BAD_COMMAND_LINE,
          "cannot write the validation report: " + e + ": give another --validation-report");
    }
  }

  /** Standard deviation of {@code times} divided by their mean; 0 when all are 0. */
  static double coefficientOfVariation(long[] times) {
    double mean = 0;
    for (long time : times) {
      mean += (double) time / times.length;
    }
    double variance = 0;
    for (long time : times) {
      variance += (time - mean) * (time - mean) / times.length;
    }
    return mean == 0 ? 0 : Math.sqrt(variance) / mean;
  }
}
