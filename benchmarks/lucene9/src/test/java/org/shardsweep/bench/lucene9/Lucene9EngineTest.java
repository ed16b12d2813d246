// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.lucene9;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedReader;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import org.dacapo.harness.EngineTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardsweep.bench.Verse;

class Lucene9EngineTest extends EngineTest {
  @TempDir Path index;

  Lucene9EngineTest() {
    super(new Lucene9Engine(), 10);
  }

  @Test
  void aHitIsShownWithTheEndsOfItsText() throws Exception {
    Lucene9Engine engine = new Lucene9Engine();
    engine.buildIndex(
        List.of(
            new Verse("A1:1", "all the small cats see the large dog, which sees none of them"),
            new Verse("A1:2", "small birds")),
        index);
    StringWriter text = new StringWriter();
    engine.search(
        index, new BufferedReader(new StringReader("small\n")), new PrintWriter(text, true));
    assertEquals(
        List.of(
            "2 total matching documents for small",
            "\t1. A1:2", "\t\tsmall ... birds",
            "\t2. A1:1", "\t\tall the small c ... es none of them"),
        text.toString().lines().toList());
  }
}
