// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.lucene2;

import org.dacapo.harness.EngineTest;

class Lucene2EngineTest extends EngineTest {
  Lucene2EngineTest() {
    super(new Lucene2Engine(), 20);
  }
}
