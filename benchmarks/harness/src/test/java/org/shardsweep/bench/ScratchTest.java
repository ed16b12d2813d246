// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.dacapo.harness.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ScratchTest {
  @TempDir Path root;

  private Path leaveOutput(boolean preserve) throws Exception {
    try (Scratch scratch = Scratch.open(root, "some", preserve)) {
      Files.createDirectories(scratch.output(0).getParent());
      return Files.writeString(scratch.output(0), "hits");
    }
  }

  @Test
  void filesAreRemovedAtTheEndUnlessPreserved() throws Exception {
    assertFalse(Files.exists(leaveOutput(false)));
    assertTrue(Files.exists(leaveOutput(true)));
    try (Scratch scratch = Scratch.open(root, "some", true)) {
      scratch.clearOutput();
      assertFalse(Files.exists(scratch.output(0)));
    }
  }

  @Test
  void filesOfOthersAreLeftAlone() throws Exception {
    Path beside = Files.writeString(root.resolve("thesis.tex"), "words");
    leaveOutput(false);
    assertTrue(Files.exists(beside));

    Path foreign = Files.createDirectories(root.resolve("other/output")).resolve("000.txt");
    Files.writeString(foreign, "words");
    assertThrows(UsageException.class, () -> Scratch.open(root, "other", false));
    assertTrue(Files.exists(foreign));
  }

  @Test
  void aFolderInUseIsRefusedUntilItIsFree() throws Exception {
    try (Scratch first = Scratch.open(root, "some", false)) {
      UsageException e =
          assertThrows(UsageException.class, () -> Scratch.open(root, "some", false));
      assertTrue(e.getMessage().contains("another run"), e.getMessage());
      assertEquals("some", first.benchmark());
    }
    Scratch.open(root, "some", false).close();
  }

  @Test
  void aFileInTheWayIsReported() throws Exception {
    Files.writeString(root.resolve("some"), "");
    UsageException e = assertThrows(UsageException.class, () -> Scratch.open(root, "some", false));
    assertTrue(e.getMessage().contains("--scratch-directory"), e.getMessage());
  }
}
