// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * One iteration: all batches, searched by a number of new threads. Thread i of n runs the batches
 * i, i + n, i + 2n and so on, one after the other.
 */
public final class BatchRunner {
  private final SearchEngine engine;
  private final Scratch scratch;
  private final int batches;
  private final int threads;

  /** The first failure of any thread; once it is set, no thread begins another batch. */
  private volatile Throwable failure;

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
    Thread[] workers = new Thread[threads];
    int started = 0;
    try {
      for (; started < threads; started++) {
        int first = started;
        Thread worker = new Thread(() -> runBatches(first), "Query" + first);
        worker.setDaemon(true);
        worker.start();
        workers[started] = worker;
      }
    } catch (Throwable e) {
      fail(e);
    }
    for (int i = 0; i < started; i++) {
      workers[i].join();
    }
    if (failure instanceof Error error) {
      throw error;
    } else if (failure != null) {
      throw (Exception) failure;
    }
  }

  private void runBatches(int first) {
    try {
      for (int batch = first; batch < batches && failure == null; batch += threads) {
        runBatch(batch);
      }
    } catch (Throwable e) {
      // Memory may have run out: nothing may be allocated here.
      fail(e);
    }
  }

  private void fail(Throwable e) {
    synchronized (this) {
      if (failure == null) {
        failure = e;
      }
    }
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
