// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Build step: writes the query files of a benchmark that go into the jar. */
public final class QueryWriter {
  /** Queries in a batch. */
  static final int QUERIES_PER_BATCH = 2048;

  private QueryWriter() {}

  /** Arguments: the benchmark's name, the corpus, and the folder for the query files. */
  public static void main(String[] args) throws IOException {
    SearchEngine engine = SearchEngine.named(args[0]);
    List<Verse> verses = Verse.readAll(Path.of(args[1]));
    Path directory = Files.createDirectories(Path.of(args[2]));
    QueryGenerator generator = new QueryGenerator(verses, engine.presentPerMille());
    for (int batch = 0; batch < Size.LARGE.batches(); batch++) {
      Path file = directory.resolve(Scratch.batchName(batch));
      Files.write(file, generator.batch(batch, QUERIES_PER_BATCH));
    }
  }
}
