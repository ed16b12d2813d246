// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.dacapo.harness.Callback;
import org.dacapo.harness.CommandLineArgs;
import org.dacapo.parser.Config;
import org.junit.jupiter.api.Test;

class StatisticsTest {
  /** Drives {@code callback} through its iterations, adding to {@code events}. */
  private static void drive(Callback callback, List<String> events) {
    callback.init(new Config("lusearch"));
    do {
      callback.start("lusearch");
      events.add("iteration");
      callback.stop(10);
      callback.complete("lusearch", true);
    } while (callback.runAgain());
  }

  @Test
  void bracketsTheTimedIterationOnly() throws Exception {
    List<String> events = new ArrayList<>();
    Consumer<String> command = events::add;
    drive(
        new Statistics(CommandLineArgs.parse(new String[] {"-n", "3", "lusearch"}), command),
        events);
    assertEquals(
        List.of("iteration", "iteration", "mmtkHarnessBegin", "iteration", "mmtkHarnessEnd"),
        events);
  }

  private static long collections() {
    return ManagementFactory.getGarbageCollectorMXBeans().stream()
        .mapToLong(GarbageCollectorMXBean::getCollectionCount)
        .sum();
  }

  @Test
  void collectsOnceBeforeTheTimedIterationWithoutMmtkToo() throws Exception {
    Statistics callback =
        new Statistics(CommandLineArgs.parse(new String[] {"-n", "2", "lusearch"}));
    callback.init(new Config("lusearch"));
    long before = collections();
    callback.start("lusearch");
    callback.stop(10);
    assertEquals(before, collections());
    assertTrue(callback.runAgain());
    callback.start("lusearch");
    assertEquals(before + 1, collections());
    callback.stop(10);
    assertEquals(before + 1, collections());
  }

  /** The JVM logs to the same file: what is written in pieces can have a line of its log between them. */
  @Test
  void saysItInOnePiece() {
    List<Integer> pieces = new ArrayList<>();
    OutputStream file =
        new OutputStream() {
          @Override
          public void write(int piece) {
            pieces.add(1);
          }

          @Override
          public void write(byte[] bytes, int offset, int length) {
            pieces.add(length);
          }
        };
    Usage.say(new PrintStream(file, true, StandardCharsets.US_ASCII));
    assertEquals(1, pieces.size(), pieces::toString);
  }

  @Test
  void saysWhatTheProcessHasUsed() {
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    Usage.say(new PrintStream(said, true, StandardCharsets.US_ASCII));
    Matcher line =
        Pattern.compile(
                "===== Shardsweep usage user (\\d+), system (\\d+), minor (\\d+), major (\\d+),"
                    + " heap (\\d+) =====\n")
            .matcher(said.toString(StandardCharsets.US_ASCII));
    assertTrue(line.matches(), said::toString);
    // A JVM that runs this has used some of each, and waited for no disk perhaps.
    for (int counter : new int[] {1, 3, 5}) {
      assertTrue(Long.parseLong(line.group(counter)) > 0, said::toString);
    }
  }
}
