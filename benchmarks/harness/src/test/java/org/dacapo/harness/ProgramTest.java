// SPDX-License-Identifier: MIT OR Apache-2.0
package org.dacapo.harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardsweep.bench.Digests;
import org.shardsweep.bench.Program;
import org.shardsweep.bench.Size;
import org.shardsweep.bench.Workload;

/** What every program has to do; it has a subclass, and digests of its own. */
public abstract class ProgramTest {
  private final Program program;

  @TempDir Path scratch;

  /** Tests {@code program}. */
  protected ProgramTest(Program program) {
    this.program = program;
  }

  private Captured run(String... options) throws Exception {
    List<String> args = new ArrayList<>(List.of(options));
    args.addAll(List.of("-s", "small", "--scratch-directory", scratch.toString(), program.name()));
    return Captured.of(() -> TestHarness.run(args.toArray(String[]::new)));
  }

  @Test
  void passesWhateverTheNumberOfThreads() throws Exception {
    for (String threads : List.of("1", "3", "48")) {
      Captured captured = run("-n", "2", "-t", threads);
      assertEquals(0, captured.status(), captured.err());
      assertTrue(captured.err().contains(program.name() + " PASSED in "), captured.err());
    }
  }

  @Test
  void everySizeHasADigest() throws Exception {
    List<String> names =
        Digests.recorded(program.name()).lines().stream().map(line -> line.substring(66)).toList();
    for (Size size : Size.values()) {
      assertTrue(names.contains(program.name() + "/" + size.label()), names::toString);
    }
  }

  /** A workload that has not run has other results, or none: a digest that never differs checks nothing. */
  @Test
  void withoutARunTheResultsAreWrong() throws Exception {
    Program.Setting setting = new Program.Setting(scratch, false, Size.SMALL, 2);
    try (Workload workload = program.open(setting)) {
      workload.prepare();
      List<String> wrong = workload.results().differences(Digests.recorded(program.name()));
      assertEquals(List.of(program.name() + "/small"), wrong);
    }
  }
}
