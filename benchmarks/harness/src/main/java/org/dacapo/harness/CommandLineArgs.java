// SPDX-License-Identifier: MIT OR Apache-2.0
package org.dacapo.harness;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.shardsweep.bench.Size;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.TypeConversionException;

/**
 * The command line: DaCapo's, as far as it makes sense for these benchmarks. Callbacks get it in
 * their constructor. All values are checked when it is parsed.
 */
@Command(name = "java -jar lusearch.jar")
public final class CommandLineArgs {
  /** How the number of iterations is found. */
  public enum Methodology {
    /** A given number. */
    ITERATE,
    /** As many as it takes for the times to settle. */
    CONVERGE
  }

  @Option(
      names = {"-c", "--callback"},
      paramLabel = "<class>",
      description = "bracket the iterations with this Callback")
  private String callback;

  @Option(
      names = {"-C", "--converge"},
      description = "iterate until the times have settled")
  private boolean converge;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "print this help")
  private boolean help;

  @Option(
      names = {"-l", "--list-benchmarks"},
      description = "list the benchmarks")
  private boolean list;

  @Option(
      names = {"-n", "--iterations"},
      paramLabel = "<n>",
      defaultValue = "1",
      description = "run n iterations, the last is timed (${DEFAULT-VALUE})")
  private int iterations;

  @Option(
      names = {"-s", "--size"},
      paramLabel = "<size>",
      defaultValue = "default",
      description = "small, default or large (${DEFAULT-VALUE})")
  private Size size;

  @Option(
      names = {"-t", "--thread-count"},
      paramLabel = "<n>",
      description = "work with n threads (one per processor)")
  private int threads = Runtime.getRuntime().availableProcessors();

  @Option(
      names = {"-v", "--verbose"},
      description = "say what is done")
  private boolean verbose;

  @Option(
      names = "--max-iterations",
      paramLabel = "<n>",
      defaultValue = "20",
      description = "with -C: at most n iterations (${DEFAULT-VALUE})")
  private int maxIterations;

  @Option(
      names = "--variance",
      paramLabel = "<pct>",
      defaultValue = "3.0",
      description = "with -C: settled means within pct %% (${DEFAULT-VALUE})")
  private double targetVariation;

  @Option(
      names = "--window",
      paramLabel = "<n>",
      defaultValue = "3",
      description = "with -C: compare the latest n times (${DEFAULT-VALUE})")
  private int window;

  @Option(
      names = "--scratch-directory",
      paramLabel = "<dir>",
      defaultValue = "./scratch",
      description = "where to put files (${DEFAULT-VALUE})")
  private String scratchDirectory;

  @Option(names = "--ignore-validation", description = "exit with 0 in spite of wrong results")
  private boolean ignoreValidation;

  @Option(names = "--no-pre-iteration-gc", description = "no System.gc() before an iteration")
  private boolean noPreIterationGc;

  @Option(names = "--no-validation", description = "do not check the results")
  private boolean noValidation;

  @Option(names = "--preserve", description = "keep index, queries and output at the end")
  private boolean preserve;

  @Option(
      names = "--validation-report",
      paramLabel = "<file>",
      description = "write the digests of the output to file")
  private Path validationReport;

  @Parameters(paramLabel = "benchmark", description = "what to run, one after the other")
  private List<String> benchmarks = new ArrayList<>();

  private CommandLineArgs() {}

  /**
   * Parses {@code args}.
   *
   * @throws UsageException for an unknown option, one that is there twice, a missing or a bad value
   */
  public static CommandLineArgs parse(String... args) throws UsageException {
    CommandLineArgs parsed = new CommandLineArgs();
    try {
      parser(parsed).parseArgs(args);
    } catch (ParameterException e) {
      throw new UsageException(
          UsageException.BAD_COMMAND_LINE, e.getMessage() + " (-h lists the options)");
    }
    return parsed;
  }

  private static CommandLine parser(CommandLineArgs parsed) {
    return new CommandLine(parsed)
        .setExpandAtFiles(false)
        .registerConverter(int.class, CommandLineArgs::count)
        .registerConverter(double.class, CommandLineArgs::fraction)
        .registerConverter(Size.class, CommandLineArgs::size);
  }

  /** Prints the options to standard output. */
  static void printHelp() {
    parser(new CommandLineArgs()).usage(System.out);
  }

  private static int count(String text) {
    try {
      int number = Integer.parseInt(text);
      if (number >= 1) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Reported below, as numbers that are too small are.
    }
    throw bad(text, "a whole number of at least 1");
  }

  /** The fraction that a percentage is. */
  private static double fraction(String text) {
    try {
      double number = Double.parseDouble(text);
      if (number >= 0 && number <= 100) {
        return number / 100;
      }
    } catch (NumberFormatException e) {
      // Reported below, as numbers out of range are.
    }
    throw bad(text, "a percentage from 0 to 100");
  }

  private static Size size(String text) {
    for (Size size : Size.values()) {
      if (size.label().equals(text)) {
        return size;
      }
    }
    throw bad(text, "small, default or large");
  }

  private static TypeConversionException bad(String text, String expected) {
    return new TypeConversionException("'" + text + "': give " + expected);
  }

  /**
   * Makes the callback that the command line asks for, or the plain one.
   *
   * @throws UsageException when there is no such class, or it is not a callback
   */
  Callback newCallback() throws UsageException, ReflectiveOperationException {
    if (callback == null) {
      return new Callback(this);
    }
    try {
      return Class.forName(callback)
          .asSubclass(Callback.class)
          .getConstructor(CommandLineArgs.class)
          .newInstance(this);
    } catch (ClassNotFoundException e) {
      throw new UsageException(
          UsageException.MISSING_CALLBACK,
          "no class " + callback + " for --callback: put it on the class path with -cp");
    } catch (ClassCastException | NoSuchMethodException e) {
      throw new UsageException(
          UsageException.BAD_CALLBACK,
          callback + " is no callback: it must extend org.dacapo.harness.Callback"
              + " and have a public constructor that takes CommandLineArgs");
    } catch (InvocationTargetException e) {
      throw new UsageException(
          UsageException.BAD_CALLBACK,
          "the constructor of callback " + callback + " failed: " + e.getCause());
    }
  }

  /** The names of the benchmarks to run, in order; empty when none is given. */
  public List<String> benchmarks() {
    return benchmarks;
  }

  /** Whether only the help text is wanted. */
  boolean help() {
    return help;
  }

  /** Whether only the names of the benchmarks are wanted. */
  boolean list() {
    return list;
  }

  /** How the number of iterations is found. */
  public Methodology getMethodology() {
    return converge ? Methodology.CONVERGE : Methodology.ITERATE;
  }

  /** Number of iterations, the timed one included; at least 1. */
  public int getIterations() {
    return iterations;
  }

  /** Number of iterations whose times are compared to see whether they have settled. */
  public int getWindow() {
    return window;
  }

  /** Number of iterations after which waiting for the times to settle is given up. */
  public int getMaxIterations() {
    return maxIterations;
  }

  /** Coefficient of variation (a fraction, not per cent) at which the times have settled. */
  public double getTargetVar() {
    return targetVariation;
  }

  /** Name of the size of the input. */
  public String getSize() {
    return size.label();
  }

  /** Size of the input. */
  Size size() {
    return size;
  }

  /** Number of threads that work; at least 1. */
  int threads() {
    return threads;
  }

  /** Whether to say what is done. */
  public boolean getVerbose() {
    return verbose;
  }

  /** The folder below which all files are written. */
  public String getScratchDir() {
    return scratchDirectory;
  }

  /** Whether to keep index, queries and output at the end. */
  public boolean getPreserve() {
    return preserve;
  }

  /** Whether to call {@code System.gc()} before each iteration. */
  public boolean getPreIterationGC() {
    return !noPreIterationGc;
  }

  /** Whether to check the output of each iteration. */
  public boolean getValidate() {
    return !noValidation;
  }

  /** Whether wrong results leave the exit status alone. */
  public boolean getIgnoreValidation() {
    return ignoreValidation;
  }

  /** The file that gets the digests of the output, or null. */
  Path validationReport() {
    return validationReport;
  }
}
