// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Stream;

/**
 * A benchmark. Implementations are found as services, like search engines, each of which is a
 * program too.
 */
public interface Program {
  /** The benchmark's name on the command line, and the folder of its resources. */
  String name();

  /**
   * Makes ready what all iterations share.
   *
   * @throws Exception when that cannot be done; the benchmark has not begun then
   */
  Workload open(Setting setting) throws Exception;

  /**
   * What the command line says to a program.
   *
   * @param scratch the folder below which it may write, not made yet
   * @param preserve whether to leave files there at the end
   * @param size how much is to be done
   * @param threads by how many threads
   */
  record Setting(Path scratch, boolean preserve, Size size, int threads) {}

  /** All programs on the class path. */
  static List<Program> all() {
    Stream<Program> programs =
        ServiceLoader.load(Program.class).stream().map(ServiceLoader.Provider::get);
    return Stream.concat(programs, SearchEngine.all().stream().map(Search::new)).toList();
  }
}
