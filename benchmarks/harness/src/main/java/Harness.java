// SPDX-License-Identifier: MIT OR Apache-2.0

import org.dacapo.harness.TestHarness;

/**
 * The entry point under the name, and in the unnamed package, where drivers of DaCapo look for it:
 * {@code java -cp lusearch.jar:probes.jar Harness -c CALLBACK ...}.
 */
public final class Harness {
  private Harness() {}

  /** Runs the benchmarks that {@code args} names; see {@link TestHarness#main}. */
  public static void main(String[] args) {
    TestHarness.main(args);
  }
}
