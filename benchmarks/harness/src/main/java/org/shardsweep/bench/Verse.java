// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
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
  private static final String SHIPPED = "/kjv.txt";

  /**
   * Reads a corpus of one verse a line, the reference before the first space.
   *
   * @throws IOException when the file cannot be read or a line has another form
   */
  public static List<Verse> readAll(Path file) throws IOException {
    try (BufferedReader lines = Files.newBufferedReader(file, StandardCharsets.US_ASCII)) {
      return read(lines, file.toString());
    }
  }

  /**
   * Reads the text that the jar has.
   *
   * @throws IOException when the jar has none
   */
  public static List<Verse> shipped() throws IOException {
    try (InputStream in = Verse.class.getResourceAsStream(SHIPPED)) {
      if (in == null) {
        throw new FileNotFoundException("the jar has no " + SHIPPED);
      }
      return read(
          new BufferedReader(new InputStreamReader(in, StandardCharsets.US_ASCII)), SHIPPED);
    }
  }

  private static List<Verse> read(BufferedReader lines, String from) throws IOException {
    List<Verse> verses = new ArrayList<>();
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      int space = line.indexOf(' ');
      if (space <= 0) {
        throw new IOException(from + ": line " + (verses.size() + 1) + " is no verse");
      }
      verses.add(new Verse(line.substring(0, space), line.substring(space + 1)));
    }
    return verses;
  }
}
