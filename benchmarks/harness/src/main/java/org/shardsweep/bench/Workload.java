// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.IOException;

/** A program that is made ready to run some iterations. */
public interface Workload extends AutoCloseable {
  /** Called before each iteration; not timed. */
  default void prepare() throws Exception {}

  /** One iteration. No thread of it is left when this method returns or throws. */
  void run() throws Exception;

  /**
   * The digests of what the latest iteration came to, the same for any number of threads. Not
   * timed.
   */
  Digests results() throws Exception;

  /** Called after the last iteration. */
  @Override
  default void close() throws IOException {}
}
