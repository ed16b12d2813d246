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
import org.shardsweep.bench.Verse;
import org.shardsweep.bench.Workload;

class ServerProgramTest extends ProgramTest {
  ServerProgramTest() {
    super(new ServerProgram());
  }

  private static List<String> wrong(Workload workload) throws Exception {
    return workload.results().differences(Digests.recorded("server"));
  }

  @Test
  void aPageThatIsKeptAndDamagedOrLostIsNoticed() throws Exception {
    Program.Setting setting = new Program.Setting(Path.of("unused"), false, Size.SMALL, 2);
    try (ServerProgram.Serving serving = new ServerProgram.Serving(Verse.shipped(), setting)) {
      serving.prepare();
      serving.run();
      assertEquals(List.of(), wrong(serving));
      Integer first = serving.kept.keySet().iterator().next();
      String page = serving.kept.put(first, "damaged");
      assertEquals(List.of("server/small"), wrong(serving));
      serving.kept.put(first, page);
      assertEquals(List.of(), wrong(serving));
      serving.kept.remove(first);
      assertEquals(List.of("server/small"), wrong(serving));
    }
  }
}
