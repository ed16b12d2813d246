// SPDX-License-Identifier: MIT OR Apache-2.0
package org.dacapo.parser;

/**
 * What a callback is told about the benchmark that is about to run. DaCapo parses a configuration
 * file into a class of this name; callbacks use no more of it than is here.
 */
public final class Config {
  /** The benchmark's name, as on the command line. */
  public final String name;

  /** Creates the configuration of the benchmark {@code name}. */
  public Config(String name) {
    this.name = name;
  }
}
