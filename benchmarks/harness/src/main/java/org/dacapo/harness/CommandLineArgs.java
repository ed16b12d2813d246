// SPDX-License-Identifier: MIT OR Apache-2.0
package org.dacapo.harness;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.HelpFormatter;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.shardsweep.bench.Size;

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

  private final CommandLine line;
  private final Size size;
  private final int iterations;
  private final int threads;
  private final int window;
  private final int maxIterations;
  private final double targetVariation;

  private CommandLineArgs(CommandLine line) throws UsageException {
    this.line = line;
    size = parseSize(line.getOptionValue("size", "default"));
    iterations = count("iterations", 1);
    threads = count("thread-count", Runtime.getRuntime().availableProcessors());
    window = count("window", 3);
    maxIterations = count("max-iterations", 20);
    targetVariation = percentage("variance", 3.0);
  }

  /**
   * Parses {@code args}.
   *
   * @throws UsageException for an unknown option, a missing or a bad value
   */
  public static CommandLineArgs parse(String... args) throws UsageException {
    try {
      return new CommandLineArgs(new DefaultParser().parse(options(), args));
    } catch (ParseException e) {
      throw new UsageException(
          UsageException.BAD_COMMAND_LINE, e.getMessage() + " (-h lists the options)");
    }
  }

  private static Options options() {
    Options options = new Options();
    options.addOption(value("c", "callback", "class", "bracket the iterations with this Callback"));
    options.addOption("C", "converge", false, "iterate until the times have settled");
    options.addOption("h", "help", false, "print this help");
    options.addOption("l", "list-benchmarks", false, "list the benchmarks");
    options.addOption(value("n", "iterations", "n", "run n iterations, the last is timed (1)"));
    options.addOption(value("s", "size", "size", "small, default or large (default)"));
    options.addOption(value("t", "thread-count", "n", "search with n threads (one per processor)"));
    options.addOption("v", "verbose", false, "say what is done");
    options.addOption(value(null, "max-iterations", "n", "with -C: at most n iterations (20)"));
    options.addOption(value(null, "variance", "pct", "with -C: settled means within pct % (3.0)"));
    options.addOption(value(null, "window", "n", "with -C: compare the latest n times (3)"));
    options.addOption(value(null, "scratch-directory", "dir", "where to put files (./scratch)"));
    options.addOption(null, "ignore-validation", false, "exit with 0 in spite of wrong results");
    options.addOption(null, "no-pre-iteration-gc", false, "no System.gc() before an iteration");
    options.addOption(null, "no-validation", false, "do not check the results");
    options.addOption(null, "preserve", false, "keep index, queries and output at the end");
    options.addOption(
        value(null, "validation-report", "file", "write the digests of the output to file"));
    return options;
  }

  private static Option value(String letter, String name, String argument, String description) {
    return Option.builder(letter).longOpt(name).hasArg().argName(argument).desc(description).build();
  }

  /** Prints the options to standard output. */
  static void printHelp() {
    new HelpFormatter().printHelp("java -jar lusearch.jar [options] benchmark...", options());
  }

  private int count(String option, int otherwise) throws UsageException {
    String text = line.getOptionValue(option);
    if (text == null) {
      return otherwise;
    }
    try {
      int number = Integer.parseInt(text);
      if (number >= 1) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Reported below, as numbers that are too small are.
    }
    throw bad(option, text, "a whole number of at least 1");
  }

  private double percentage(String option, double otherwise) throws UsageException {
    String text = line.getOptionValue(option);
    if (text == null) {
      return otherwise / 100;
    }
    try {
      double number = Double.parseDouble(text);
      if (number >= 0 && number <= 100) {
        return number / 100;
      }
    } catch (NumberFormatException e) {
      // Reported below, as numbers out of range are.
    }
    throw bad(option, text, "a percentage from 0 to 100");
  }

  private static Size parseSize(String text) throws UsageException {
    for (Size size : Size.values()) {
      if (size.label().equals(text)) {
        return size;
      }
    }
    throw bad("size", text, "small, default or large");
  }

  private static UsageException bad(String option, String text, String expected) {
    return new UsageException(
        UsageException.BAD_COMMAND_LINE,
        "bad value '" + text + "' for --" + option + ": give " + expected);
  }

  /**
   * Makes the callback that the command line asks for, or the plain one.
   *
   * @throws UsageException when there is no such class, or it is not a callback
   */
  Callback newCallback() throws UsageException, ReflectiveOperationException {
    String name = line.getOptionValue("callback");
    if (name == null) {
      return new Callback(this);
    }
    try {
      return Class.forName(name)
          .asSubclass(Callback.class)
          .getConstructor(CommandLineArgs.class)
          .newInstance(this);
    } catch (ClassNotFoundException e) {
      throw new UsageException(
          UsageException.MISSING_CALLBACK,
          "no class " + name + " for --callback: put it on the class path with -cp");
    } catch (ClassCastException | NoSuchMethodException e) {
      throw new UsageException(
          UsageException.BAD_CALLBACK,
          name + " is no callback: it must extend org.dacapo.harness.Callback"
              + " and have a public constructor that takes CommandLineArgs");
    } catch (InvocationTargetException e) {
      throw new UsageException(
          UsageException.BAD_CALLBACK,
          "the constructor of callback " + name + " failed: " + e.getCause());
    }
  }

  /** The names of the benchmarks to run, in order; empty when none is given. */
  public List<String> benchmarks() {
    return line.getArgList();
  }

  /** Whether only the help text is wanted. */
  boolean help() {
    return line.hasOption("help");
  }

  /** Whether only the names of the benchmarks are wanted. */
  boolean list() {
    return line.hasOption("list-benchmarks");
  }

  /** How the number of iterations is found. */
  public Methodology getMethodology() {
    return line.hasOption("converge") ? Methodology.CONVERGE : Methodology.ITERATE;
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

  /** Number of threads that search; at least 1. */
  int threads() {
    return threads;
  }

  /** Whether to say what is done. */
  public boolean getVerbose() {
    return line.hasOption("verbose");
  }

  /** The folder below which all files are written. */
  public String getScratchDir() {
    return line.getOptionValue("scratch-directory", "./scratch");
  }

  /** Whether to keep index, queries and output at the end. */
  public boolean getPreserve() {
    return line.hasOption("preserve");
  }

  /** Whether to call {@code System.gc()} before each iteration. */
  public boolean getPreIterationGC() {
    return !line.hasOption("no-pre-iteration-gc");
  }

  /** Whether to check the output of each iteration. */
  public boolean getValidate() {
    return !line.hasOption("no-validation");
  }

  /** Whether wrong results leave the exit status alone. */
  public boolean getIgnoreValidation() {
    return line.hasOption("ignore-validation");
  }

  /** The file that gets the digests of the output, or null. */
  Path validationReport() {
    String file = line.getOptionValue("validation-report");
    return file == null ? null : Path.of(file);
  }
}
