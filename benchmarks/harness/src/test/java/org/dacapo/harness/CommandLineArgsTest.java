// SPDX-License-Identifier: MIT OR Apache-2.0
package org.dacapo.harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.dacapo.harness.CommandLineArgs.Methodology;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardsweep.bench.Size;

class CommandLineArgsTest {
  @Test
  void defaultsAreDaCapos() throws Exception {
    CommandLineArgs args = CommandLineArgs.parse("lusearch");
    assertEquals(List.of("lusearch"), args.benchmarks());
    assertEquals(1, args.getIterations());
    assertEquals(Size.DEFAULT, args.size());
    assertEquals(Runtime.getRuntime().availableProcessors(), args.threads());
    assertEquals("./scratch", args.getScratchDir());
    assertEquals(Methodology.ITERATE, args.getMethodology());
    assertTrue(args.getValidate());
    assertTrue(args.getPreIterationGC());
    assertFalse(args.getPreserve());
  }

  @Test
  void shortAndLongNamesMeanTheSame() throws Exception {
    for (String line :
        List.of(
            "-n 5 -t 24 -s large lusearch",
            "--iterations 5 --thread-count 24 --size large lusearch",
            "--iterations=5 --thread-count=24 --size=large lusearch",
            "lusearch -n5 -t24 -slarge")) {
      CommandLineArgs args = CommandLineArgs.parse(line.split(" "));
      assertEquals(5, args.getIterations(), line);
      assertEquals(24, args.threads(), line);
      assertEquals("large", args.getSize(), line);
      assertEquals(List.of("lusearch"), args.benchmarks(), line);
    }
  }

  @Test
  void convergenceIsConfigurable() throws Exception {
    CommandLineArgs args =
        CommandLineArgs.parse("--converge", "--window", "4", "--variance", "1.5", "lusearch");
    assertEquals(Methodology.CONVERGE, args.getMethodology());
    assertEquals(4, args.getWindow());
    assertEquals(0.015, args.getTargetVar(), 1e-12);
    assertEquals(20, args.getMaxIterations());
  }

  @ParameterizedTest
  @CsvSource({
    "-n 0, '0'",
    "-n many, 'many'",
    "-t -1, '-1'",
    "-s huge, 'huge'",
    "--variance NaN, 'NaN'",
    "--window 0, '0'",
    "--frobnicate, --frobnicate",
    "-n, iterations",
    "-n -t 3, iterations",
    "-n 3 -n 5, iterations",
  })
  void badValuesAreNamedInOneLine(String line, String culprit) {
    UsageException e =
        assertThrows(UsageException.class, () -> CommandLineArgs.parse(line.split(" ")));
    assertEquals(UsageException.BAD_COMMAND_LINE, e.status());
    assertTrue(e.getMessage().contains(culprit), e.getMessage());
    assertFalse(e.getMessage().contains("\n"), e.getMessage());
  }

  /** A name that begins with an at sign is a name, and not that of a file of arguments. */
  @Test
  void valuesAreTakenAsTheyAre() throws Exception {
    CommandLineArgs args = CommandLineArgs.parse("--scratch-directory", "@there", "@all", "--", "-n");
    assertEquals("@there", args.getScratchDir());
    assertEquals(List.of("@all", "-n"), args.benchmarks());
  }

  @Test
  void helpListsTheOptions() throws Exception {
    PrintStream saved = System.out;
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
    try {
      assertEquals(0, TestHarness.run("-h"));
    } finally {
      System.setOut(saved);
    }
    String help = bytes.toString(StandardCharsets.UTF_8);
    for (String option :
        List.of("-n, --iterations=<n>", "-C, --converge", "--no-validation", "(default)")) {
      assertTrue(help.contains(option), help);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "org.example.Absent, " + UsageException.MISSING_CALLBACK,
    "java.lang.String, " + UsageException.BAD_CALLBACK,
    "org.dacapo.harness.CommandLineArgsTest$Abstract, " + UsageException.BAD_CALLBACK,
    "org.dacapo.harness.CommandLineArgsTest$Failing, " + UsageException.BAD_CALLBACK,
  })
  void unusableCallbacksAreReported(String name, int status) throws Exception {
    CommandLineArgs args = CommandLineArgs.parse("-c", name, "lusearch");
    UsageException e = assertThrows(UsageException.class, args::newCallback);
    assertEquals(status, e.status());
    assertTrue(e.getMessage().contains(name), e.getMessage());
  }

  @Test
  void aCallbackThatRunsOutOfMemoryIsNoBadInput() throws Exception {
    CommandLineArgs args = CommandLineArgs.parse("-c", OutOfMemory.class.getName(), "lusearch");
    assertThrows(OutOfMemoryError.class, args::newCallback);
  }

  /** Callbacks that cannot be made. */
  public abstract static class Abstract extends Callback {
    /** As the harness makes one. */
    public Abstract(CommandLineArgs args) {
      super(args);
    }
  }

  /** One whose constructor fails. */
  public static final class Failing extends Callback {
    /** As the harness makes one. */
    public Failing(CommandLineArgs args) {
      super(args);
      throw new IllegalStateException("as it is told to");
    }
  }

  /** One for which there is no memory. */
  public static final class OutOfMemory extends Callback {
    /** As the harness makes one. */
    public OutOfMemory(CommandLineArgs args) {
      super(args);
      throw new OutOfMemoryError("as it is told to");
    }
  }

  @Test
  void benchmarksMustExist() {
    UsageException none = assertThrows(UsageException.class, () -> TestHarness.run());
    assertEquals(UsageException.MISSING_BENCHMARKS, none.status());
    UsageException unknown = assertThrows(UsageException.class, () -> TestHarness.run("luseerch"));
    assertEquals(UsageException.UNKNOWN_BENCHMARK, unknown.status());
  }
}
