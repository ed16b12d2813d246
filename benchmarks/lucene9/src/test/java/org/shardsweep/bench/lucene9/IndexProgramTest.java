// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.lucene9;

import org.dacapo.harness.ProgramTest;

class IndexProgramTest extends ProgramTest {
  IndexProgramTest() {
    super(new IndexProgram());
  }
}
