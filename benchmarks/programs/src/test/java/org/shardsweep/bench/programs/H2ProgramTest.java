// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.programs;

import org.dacapo.harness.ProgramTest;

class H2ProgramTest extends ProgramTest {
  H2ProgramTest() {
    super(new H2Program());
  }
}
