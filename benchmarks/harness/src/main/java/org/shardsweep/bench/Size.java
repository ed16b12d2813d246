// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.util.Locale;

/**
 * How much is searched. A smaller size runs the first batches of a larger one, so that one list of
 * digests serves all.
 */
public enum Size {
  SMALL(16),
  DEFAULT(64),
  LARGE(128);

  private final int batches;

  Size(int batches) {
    this.batches = batches;
  }

  /** Number of batches of queries in one iteration. */
  public int batches() {
    return batches;
  }

  /** The one of three numbers that goes with this size. */
  public int of(int small, int standard, int large) {
    return switch (this) {
      case SMALL -> small;
      case DEFAULT -> standard;
      case LARGE -> large;
    };
  }

  /** The name on the command line. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
