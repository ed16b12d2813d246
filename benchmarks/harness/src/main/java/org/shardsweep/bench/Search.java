// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.IOException;

/** The program that searches with one engine. */
final class Search implements Program {
  private final SearchEngine engine;

  Search(SearchEngine engine) {
    this.engine = engine;
  }

  @Override
  public String name() {
    return engine.name();
  }

  @Override
  public Workload open(Setting setting) throws Exception {
    Scratch scratch = Scratch.open(setting.scratch(), engine.name(), setting.preserve());
    try {
      scratch.unpack(setting.size().batches());
      return new Batches(engine, scratch, setting);
    } catch (IOException | RuntimeException e) {
      scratch.close();
      throw e;
    }
  }

  private record Batches(SearchEngine engine, Scratch scratch, Setting setting)
      implements Workload {
    @Override
    public void prepare() throws IOException {
      scratch.clearOutput();
    }

    @Override
    public void run() throws Exception {
      new BatchRunner(engine, scratch, setting.size().batches(), setting.threads()).run();
    }

    @Override
    public Digests results() throws IOException {
      return Digests.ofOutput(scratch, setting.size().batches());
    }

    @Override
    public void close() throws IOException {
      scratch.close();
    }
  }
}
