// SPDX-License-Identifier: MIT OR Apache-2.0
package org.dacapo.harness;

/** Something that the user has to put right; the message is the one line that he sees. */
public final class UsageException extends Exception {
  private static final long serialVersionUID = 1;

  /** Exit status for a callback class that cannot be found. */
  public static final int MISSING_CALLBACK = 2;

  /** Exit status for a class that is not a callback. */
  public static final int BAD_CALLBACK = 3;

  /** Exit status for an unknown option or a bad value. */
  public static final int BAD_COMMAND_LINE = 4;

  /** Exit status for a benchmark that does not exist. */
  public static final int UNKNOWN_BENCHMARK = 9;

  /** Exit status for a command line without a benchmark. */
  public static final int MISSING_BENCHMARKS = 10;

  private final int status;

  /** Creates the error with the exit status that goes with it (DaCapo's numbers). */
  public UsageException(int status, String message) {
    super(message);
    this.status = status;
  }

  /** The exit status. */
  public int status() {
    return status;
  }
}
