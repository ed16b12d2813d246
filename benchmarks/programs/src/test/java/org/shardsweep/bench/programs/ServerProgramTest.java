// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.programs;

import org.dacapo.harness.ProgramTest;

class ServerProgramTest extends ProgramTest {
  ServerProgramTest() {
    super(new ServerProgram());
  }
}
