// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;

/**
 * A version of Lucene: the part in which the benchmarks differ. Implementations are found as
 * services; an instance holds no state that results depend on, and its methods are called by many
 * threads at once.
 */
public interface SearchEngine {
  /** The benchmark's name on the command line, and the folder of its resources. */
  String name();

  /** Words of a thousand queries that are in the text: what makes them allocate as DaCapo's do. */
  int presentPerMille();

  /**
   * Writes an index of {@code verses} into the empty folder {@code directory}. The same verses give
   * the same bytes.
   */
  void buildIndex(List<Verse> verses, Path directory) throws IOException;

  /**
   * Searches the index in {@code directory} for each line of {@code queries} and prints the hits to
   * {@code output}. The text printed depends on nothing but the index and the queries.
   *
   * @throws IOException when a file cannot be read, or a query cannot be parsed
   */
  void search(Path directory, BufferedReader queries, PrintWriter output) throws IOException;

  /** The engine on the class path that has this name. */
  static SearchEngine named(String name) {
    return all().stream().filter(engine -> engine.name().equals(name)).findAny().orElseThrow();
  }

  /** All engines on the class path. */
  static List<SearchEngine> all() {
    return ServiceLoader.load(SearchEngine.class).stream().map(ServiceLoader.Provider::get).toList();
  }
}
