// SPDX-License-Identifier: MIT OR Apache-2.0
package org.dacapo.harness;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;

/**
 * What some code returned and wrote to standard error.
 *
 * @param status what it returned
 * @param err what it wrote
 */
record Captured(int status, String err) {
  /** Runs {@code code} with standard error redirected. */
  static Captured of(Callable<Integer> code) throws Exception {
    PrintStream saved = System.err;
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    System.setErr(new PrintStream(bytes, true, StandardCharsets.UTF_8));
    try {
      int status = code.call();
      return new Captured(status, bytes.toString(StandardCharsets.UTF_8));
    } finally {
      System.setErr(saved);
    }
  }
}
