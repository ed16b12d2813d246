// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A verse of the corpus: a document of the index.
 *
 * @param reference where it stands, like {@code Ge1:1}
 * @param text its words
 */
public record Verse(String reference, String text) {
  /**
   * Reads a corpus of one verse a line, the reference before the first space.
   *
   * @throws IOException when the file cannot be read or a line has another form
   */
  public static List<Verse> readAll(Path file) throws IOException {
    List<Verse> verses = new ArrayList<>();
    for (String line : Files.readAllLines(file, StandardCharsets.US_ASCII)) {
      int space = line.indexOf(' ');
      if (space <= 0) {
        throw new IOException(file + ": line " + (verses.size() + 1) + " is no verse");
      }
      verses.add(new Verse(line.substring(0, space), line.substring(space + 1)));
    }
    return verses;
  }
}
