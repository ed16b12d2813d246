// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.lucene9;

import org.dacapo.harness.EngineTest;

class Lucene9EngineTest extends EngineTest {
  Lucene9EngineTest() {
    super(new Lucene9Engine());
  }
}
