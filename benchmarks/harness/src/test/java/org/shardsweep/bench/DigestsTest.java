// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DigestsTest {
  // The SHA-256 of "abc" and of nothing, from FIPS 180-2 and its test vectors.
  private static final String ABC =
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  private static final String EMPTY =
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

  @TempDir Path folder;

  private static Digests parse(String... lines) throws IOException {
    return Digests.parse(new BufferedReader(new StringReader(String.join("\n", lines))));
  }

  @Test
  void digestsAreSha256() throws Exception {
    Path file = folder.resolve("file");
    assertEquals(ABC, Digests.of(Files.writeString(file, "abc")));
    assertEquals(EMPTY, Digests.of(Files.writeString(file, "")));
  }

  @Test
  void everyDifferenceIsNamed() throws Exception {
    Digests expected = parse(ABC + "  a", ABC + "  b", ABC + "  c");
    assertEquals(List.of(), parse(ABC + "  a", ABC + "  b").differences(expected));
    assertEquals(
        List.of("b", "d"),
        parse(ABC + "  a", EMPTY + "  b", ABC + "  d").differences(expected));
  }

  @Test
  void aListIsReadAsItIsWritten() throws Exception {
    String[] lines = {ABC + "  a", EMPTY + "  b"};
    assertEquals(List.of(lines), parse(lines).lines());
    assertThrows(IOException.class, () -> parse("no digest"));
  }

  @Test
  void outputIsComparedFileByFile() throws Exception {
    try (Scratch scratch = Scratch.open(folder, "some", false)) {
      Files.createDirectories(scratch.output(0).getParent());
      Files.writeString(scratch.output(0), "abc");
      Files.writeString(scratch.output(1), "abd");
      Digests expected = parse(ABC + "  some/000.txt", ABC + "  some/001.txt", ABC + "  some/002.txt");
      assertEquals(
          List.of("some/001.txt", "some/002.txt"),
          Digests.ofOutput(scratch, 3).differences(expected));
    }
  }
}
