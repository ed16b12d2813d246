// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.programs;

import java.util.Arrays;
import java.util.Locale;

/**
 * How long requests have taken: <i>simple</i>, from when one was sent to its answer, and
 * <i>metered</i>, from when it was due. What stops the program for a while delays requests that are
 * due then and not sent: the metered latency has that delay. The two are those of DaCapo Chopin (S.
 * Blackburn and others, "Rethinking Java Performance Analysis", ASPLOS 2025), where the due times
 * are spread evenly over the run; with a fixed rate they are so.
 */
final class Latencies {
  private static final double[] PERCENTILES = {50, 90, 99, 99.9, 100};

  private final long[] simple;
  private final long[] metered;

  /** Prepares for so many requests. */
  Latencies(int requests) {
    simple = new long[requests];
    metered = new long[requests];
  }

  /** Notes a request, each with a number of its own; times in nanoseconds of the same clock. */
  void record(int number, long due, long sent, long answered) {
    simple[number] = answered - sent;
    metered[number] = answered - Math.min(due, sent);
  }

  /** One line with the percentiles of both, in microseconds. */
  String line() {
    return "===== Shardsweep latency usec simple " + text(simple) + ", metered " + text(metered) + " =====";
  }

  private static String text(long[] nanos) {
    long[] sorted = nanos.clone();
    Arrays.sort(sorted);
    StringBuilder text = new StringBuilder();
    for (double percentile : PERCENTILES) {
      String name = percentile == 100 ? "max" : String.format(Locale.ROOT, "%s%%", format(percentile));
      text.append(text.isEmpty() ? "" : " ").append(name).append(' ').append(at(sorted, percentile) / 1000);
    }
    return text.toString();
  }

  private static String format(double percentile) {
    return percentile == Math.rint(percentile)
        ? String.valueOf((long) percentile)
        : String.valueOf(percentile);
  }

  /** The nearest rank: the smallest value that so many per cent of all do not exceed. */
  static long at(long[] sorted, double percentile) {
    int rank = (int) Math.ceil(sorted.length * percentile / 100);
    return sorted[Math.max(rank, 1) - 1];
  }
}
