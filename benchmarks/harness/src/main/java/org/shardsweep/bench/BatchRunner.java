// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** One iteration: all batches, dealt out to a number of new threads. */
public final class BatchRunner {
  private final SearchEngine engine;
  private final Scratch scratch;
  private final int batches;
  private final int threads;

  /** Prepares an iteration of {@code batches} batches by {@code threads} threads. */
  public BatchRunner(SearchEngine engine, Scratch scratch, int batches, int threads) {
    this.engine = engine;
    this.scratch = scratch;
    this.batches = batches;
    this.threads = threads;
  }

  /**
   * Runs the iteration. No thread of it is left when this method returns or throws.
   *
   * @throws Exception what the first thread to fail has failed with, an {@link Error} included
   */
  public void run() throws Exception {
    new Workers("Query", threads).deal(batches, this::runBatch);
  }

  private void runBatch(int batch) throws IOException {
    Path output = scratch.output(batch);
    try (BufferedReader queries =
            Files.newBufferedReader(scratch.queries(batch), StandardCharsets.US_ASCII);
        PrintWriter writer =
            new PrintWriter(Files.newBufferedWriter(output, StandardCharsets.US_ASCII))) {
      engine.search(scratch.index(), queries, writer);
      if (writer.checkError()) {
        throw new IOException("cannot write " + output);
      }
    }
  }
}
