// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.lucene9;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.dacapo.harness.ProgramTest;
import org.dacapo.harness.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardsweep.bench.Digests;
import org.shardsweep.bench.Program;
import org.shardsweep.bench.Size;
import org.shardsweep.bench.Workload;

class IndexProgramTest extends ProgramTest {
  @TempDir Path shared;

  IndexProgramTest() {
    super(new IndexProgram());
  }

  private Workload open() throws Exception {
    return new IndexProgram().open(new Program.Setting(shared, false, Size.SMALL, 1));
  }

  @Test
  void theIndexOfAnotherRunIsLeftAlone() throws Exception {
    try (Workload first = open()) {
      first.prepare();
      first.run();
      assertThrows(UsageException.class, this::open);
      assertEquals(List.of(), first.results().differences(Digests.recorded("luindex9")));
    }
  }

  @Test
  void filesOfOthersAreLeftAlone() throws Exception {
    Path foreign = Files.createDirectories(shared.resolve("luindex9")).resolve("words.txt");
    Files.writeString(foreign, "words");
    assertThrows(UsageException.class, () -> open().close());
    assertTrue(Files.exists(foreign));
  }
}
