// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

/** How a reader leafs through the hits of a query; the same for every engine. */
public final class Paging {
  /** Hits on a page. */
  public static final int PAGE = 10;

  /** Hits that are collected when the first page is not enough: what the reader looks at. */
  public static final int PAGES = 2 * PAGE;

  private Paging() {}
}
