// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Build step: writes the index that goes into the jar, and the list of its files. */
public final class IndexWriterMain {
  private IndexWriterMain() {}

  /** Arguments: the benchmark's name, the corpus, and the folder for the index. */
  public static void main(String[] args) throws IOException {
    SearchEngine engine = SearchEngine.named(args[0]);
    Path directory = Files.createDirectories(Path.of(args[2]));
    // What an earlier build left would become part of the index.
    for (Path old : files(directory)) {
      Files.delete(old);
    }
    engine.buildIndex(Verse.readAll(Path.of(args[1])), directory);
    Files.deleteIfExists(directory.resolve("write.lock"));
    List<String> lines = new ArrayList<>();
    for (Path file : files(directory)) {
      lines.add(Digests.line(Digests.of(file), file.getFileName().toString()));
    }
    Files.write(directory.resolve(Digests.LIST), lines);
  }

  private static List<Path> files(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.sorted().toList();
    }
  }
}
