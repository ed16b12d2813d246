// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.BufferedReader;
import java.io.IOException;

/** Reads queries for every engine. What their parsers and queries are called differs, so that they come as functions. */
public final class Queries {
  private Queries() {}

  /** A version's parser, which fails in a way of its own. */
  @FunctionalInterface
  public interface Parser<Q> {
    /** The query that {@code line} is. */
    Q parse(String line) throws Exception;
  }

  /** What is done with a query. */
  @FunctionalInterface
  public interface Use<Q> {
    /** Searches for {@code query}. */
    void of(Q query) throws IOException;
  }

  /**
   * Uses the query of each line.
   *
   * @throws IOException when a line cannot be read, or is no query
   */
  public static <Q> void each(BufferedReader lines, Parser<Q> parser, Use<Q> use)
      throws IOException {
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      use.of(parsed(parser, line));
    }
  }

  private static <Q> Q parsed(Parser<Q> parser, String line) throws IOException {
    try {
      return parser.parse(line);
    } catch (Exception e) {
      throw new IOException("not a query: " + line, e);
    }
  }
}
