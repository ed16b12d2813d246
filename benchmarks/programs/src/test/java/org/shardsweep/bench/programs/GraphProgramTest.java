// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import org.dacapo.harness.ProgramTest;
import org.junit.jupiter.api.Test;
import org.shardsweep.bench.Digests;
import org.shardsweep.bench.Program;
import org.shardsweep.bench.Size;

class GraphProgramTest extends ProgramTest {
  GraphProgramTest() {
    super(new GraphProgram());
  }

  @Test
  void anEdgeToAnotherNodeIsNoticed() throws Exception {
    Program.Setting setting = new Program.Setting(Path.of("unused"), false, Size.SMALL, 2);
    GraphProgram.Graph graph = new GraphProgram.Graph(setting);
    graph.prepare();
    graph.run();
    Digests recorded = Digests.recorded("graph");
    assertEquals(List.of(), graph.results().differences(recorded));
    GraphProgram.Node[] edges = graph.nodes[0].edges;
    edges[0] = edges[0] == graph.nodes[1] ? graph.nodes[2] : graph.nodes[1];
    assertEquals(List.of("graph/small"), graph.results().differences(recorded));
  }
}
