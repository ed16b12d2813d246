// SPDX-License-Identifier: MIT OR Apache-2.0
package org.dacapo.harness;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.List;
import org.shardsweep.bench.Size;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.TypeConversionException;

/**
 * The command line: DaCapo's, as far as it makes sense for these benchmarks. Callbacks get it in
 * their constructor. All values are checked when it is parsed.
 */
public final class CommandLineArgs {
  /** How the number of iterations is found. */
  public enum Methodology {
    /** A given number. */
    ITERATE,
    /** As many as it takes for the times to settle. */
    CONVERGE
  }

  private final String callback;
  private final Methodology methodology;
  private final boolean help;
  private final boolean list;
  private final int iterations;
  private final Size size;
  private final int threads;
  private final boolean verbose;
  private final int maxIterations;
  private final double targetVariation;
  private final int window;
  private final String scratchDirectory;
  private final boolean ignoreValidation;
  private final boolean preIterationGc;
  private final boolean validate;
  private final boolean preserve;
  private final String validationReport;
  private final List<String> benchmarks;

  /** Keeps the values, and nothing of the parser: it would live as long. */
  private CommandLineArgs(ParseResult line) {
    callback = line.matchedOptionValue("callback", null);
    methodology = line.hasMatchedOption("converge") ? Methodology.CONVERGE : Methodology.ITERATE;
    help = line.hasMatchedOption("help");
    list = line.hasMatchedOption("list-benchmarks");
    iterations = line.matchedOptionValue("iterations", 1);
    size = line.matchedOptionValue("size", Size.DEFAULT);
    threads = line.matchedOptionValue("thread-count", Runtime.getRuntime().availableProcessors());
    verbose = line.hasMatchedOption("verbose");
    maxIterations = line.matchedOptionValue("max-iterations", 20);
    targetVariation = line.matchedOptionValue("variance", 0.03);
    window = line.matchedOptionValue("window", 3);
    scratchDirectory = line.matchedOptionValue("scratch-directory", "./scratch");
    ignoreValidation = line.hasMatchedOption("ignore-validation");
    preIterationGc = !line.hasMatchedOption("no-pre-iteration-gc");
    validate = !line.hasMatchedOption("no-validation");
    preserve = line.hasMatchedOption("preserve");
    validationReport = line.matchedOptionValue("validation-report", null);
    benchmarks = line.matchedPositionalValue(0, List.of());
  }

  /**
   * Parses {@code args}.
   *
   * @throws UsageException for an unknown option, one that is there twice, a missing or a bad value
   */
  public static CommandLineArgs parse(String... args) throws UsageException {
    try {
      return new CommandLineArgs(parser().parseArgs(args));
    } catch (ParameterException e) {
      throw new UsageException(
          UsageException.BAD_COMMAND_LINE, e.getMessage() + " (-h lists the options)");
    }
  }

  /**
   * What it loads stays in the heap, which is seen where that has few MiB: the options are no
   * annotations, whose classes would stay too.
   */
  private static CommandLine parser() {
    // Values of these types, which no option has, it would convert by reflection.
    System.setProperty("picocli.converters.excludes", "java[.](time|sql)[.].*");
    CommandSpec options = CommandSpec.create().name("java -jar lusearch.jar");
    value(options, String.class, "<class>", "bracket the iterations with this Callback", "-c", "--callback");
    flag(options, "iterate until the times have settled", "-C", "--converge");
    flag(options, "print this help", "-h", "--help");
    flag(options, "list the benchmarks", "-l", "--list-benchmarks");
    value(options, int.class, "<n>", "run n iterations, the last is timed (1)", "-n", "--iterations");
    value(options, Size.class, "<size>", "small, default or large (default)", "-s", "--size");
    value(options, int.class, "<n>", "work with n threads (one per processor)", "-t", "--thread-count");
    flag(options, "say what is done", "-v", "--verbose");
    value(options, int.class, "<n>", "with -C: at most n iterations (20)", "--max-iterations");
    value(options, double.class, "<pct>", "with -C: settled means within pct %% (3.0)", "--variance");
    value(options, int.class, "<n>", "with -C: compare the latest n times (3)", "--window");
    value(options, String.class, "<dir>", "where to put files (./scratch)", "--scratch-directory");
    flag(options, "exit with 0 in spite of wrong results", "--ignore-validation");
    flag(options, "no System.gc() before an iteration", "--no-pre-iteration-gc");
    flag(options, "do not check the results", "--no-validation");
    flag(options, "keep index, queries and output at the end", "--preserve");
    value(options, String.class, "<file>", "write the digests of the output to file", "--validation-report");
    options.addPositional(
        PositionalParamSpec.builder()
            .type(List.class)
            .auxiliaryTypes(String.class)
            .paramLabel("benchmark")
            .description("what to run, one after the other")
            .build());
    return new CommandLine(options)
        .setExpandAtFiles(false)
        .registerConverter(int.class, CommandLineArgs::count)
        .registerConverter(double.class, CommandLineArgs::fraction)
        .registerConverter(Size.class, CommandLineArgs::size);
  }

  private static void flag(CommandSpec options, String description, String... names) {
    options.addOption(OptionSpec.builder(names).description(description).build());
  }

  private static void value(
      CommandSpec options, Class<?> type, String label, String description, String... names) {
    options.addOption(
        OptionSpec.builder(names).type(type).paramLabel(label).description(description).build());
  }

  /** Prints the options to standard output. */
  static void printHelp() {
    parser().usage(System.out);
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
    } catch (ClassCastException
        | NoSuchMethodException
        | InstantiationException
        | IllegalAccessException e) {
      throw new UsageException(
          UsageException.BAD_CALLBACK,
          callback + " is no callback: it must be public, extend org.dacapo.harness.Callback"
              + " and have a public constructor that takes CommandLineArgs");
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof Error error) {
        throw error;
      }
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
    return methodology;
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
    return preIterationGc;
  }

  /** Whether to check the output of each iteration. */
  public boolean getValidate() {
    return validate;
  }

  /** Whether wrong results leave the exit status alone. */
  public boolean getIgnoreValidation() {
    return ignoreValidation;
  }

  /** The file that gets the digests of the output, or null. */
  Path validationReport() {
    return validationReport == null ? null : Path.of(validationReport);
  }
}
