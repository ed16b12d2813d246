// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.programs;

import org.dacapo.harness.ProgramTest;

class GraphProgramTest extends ProgramTest {
  GraphProgramTest() {
    super(new GraphProgram());
  }
}
