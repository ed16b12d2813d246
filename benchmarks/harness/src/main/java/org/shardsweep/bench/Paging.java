// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

/** How many hits a query's two searches collect; the same for every engine. */
public final class Paging {
  /** Hits on a page: what the search collects that tells how many there are. */
  public static final int PAGE = 10;

  /** Hits that the other search collects. */
  public static final int PAGES = 2 * PAGE;

  private Paging() {}
}
