// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class LatenciesTest {
  private static final long US = 1000;

  @Test
  void percentilesAreNearestRanks() {
    long[] sorted = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    assertEquals(5, Latencies.at(sorted, 50));
    assertEquals(9, Latencies.at(sorted, 90));
    assertEquals(10, Latencies.at(sorted, 99));
    assertEquals(10, Latencies.at(sorted, 100));
    assertEquals(7, Latencies.at(new long[] {7}, 50));
  }

  /** Requests that are due every 10 us and take 2 us; at 20 the program stands still for 30. */
  @Test
  void meteredLatencyHasTheDelayOfWhatWasDueAndNotSent() {
    Latencies latencies = new Latencies(6);
    long[] sent = {0, 10, 20, 52, 54, 56};
    long[] answered = {2, 12, 52, 54, 56, 58};
    for (int i = 0; i < 6; i++) {
      latencies.record(i, i * 10 * US, sent[i] * US, answered[i] * US);
    }
    assertEquals(
        "===== Shardsweep latency usec simple 50% 2 90% 32 99% 32 99.9% 32 max 32, "
            + "metered 50% 8 90% 32 99% 32 99.9% 32 max 32 =====",
        latencies.line());
  }
}
