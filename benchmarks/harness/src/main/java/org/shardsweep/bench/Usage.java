// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** What this process has used since it started, as Linux counts it, and the heap in use. */
final class Usage {
  private static final Path COUNTERS = Path.of("/proc/self/stat");

  /** Linux tells times in hundredths of a second, whatever the clock of the kernel. */
  private static final long MILLISECONDS_PER_TICK = 10;

  // Places behind the name of the process, of what proc(5) numbers from the start of the line.
  private static final int MINOR = 10 - 3;
  private static final int MAJOR = 12 - 3;
  private static final int USER = 14 - 3;
  private static final int SYSTEM = 15 - 3;

  private Usage() {}

  /**
   * Prints one line: processor time in milliseconds, page faults, and KiB of the heap in use.
   *
   * @throws UncheckedIOException when the system does not say
   */
  static void say(PrintStream out) {
    String line;
    try {
      line = Files.readString(COUNTERS, StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    // The name, in brackets, may hold anything.
    String[] counters = line.substring(line.lastIndexOf(')') + 2).split(" ");
    Runtime runtime = Runtime.getRuntime();
    String said =
        String.format(
            Locale.ROOT,
            "===== Shardsweep usage user %d, system %d, minor %s, major %s, heap %d =====%n",
            Long.parseLong(counters[USER]) * MILLISECONDS_PER_TICK,
            Long.parseLong(counters[SYSTEM]) * MILLISECONDS_PER_TICK,
            counters[MINOR],
            counters[MAJOR],
            (runtime.totalMemory() - runtime.freeMemory()) >> 10);
    // In one piece: a line of the JVM's log must not come between two.
    out.print(said);
  }
}
