// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.file.Path;
import java.time.Duration;
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

  private static ServerProgram.Serving serving(Duration limit) throws IOException {
    Program.Setting setting = new Program.Setting(Path.of("unused"), false, Size.SMALL, 2);
    return new ServerProgram.Serving(Verse.shipped(), setting, limit);
  }

  @Test
  void aServerThatDoesNotAnswerIsAnErrorAndNoHang() throws Exception {
    try (ServerProgram.Serving serving = serving(Duration.ofSeconds(1))) {
      serving.prepare();
      synchronized (serving.kept) {
        assertThrows(HttpTimeoutException.class, serving::run);
      }
    }
  }

  /** The client asks twice, and may get its page the second time. */
  @Test
  void aThreadOfTheServerThatFailsIsAnError() throws Exception {
    try (ServerProgram.Serving serving = serving(Duration.ofMinutes(1))) {
      serving.prepare();
      HttpRequest request = HttpRequest.newBuilder(serving.uri("no-number")).build();
      HttpClient client = HttpClient.newHttpClient();
      assertThrows(IOException.class, () -> client.send(request, BodyHandlers.discarding()));
      IOException error = assertThrows(IOException.class, serving::run);
      assertInstanceOf(NumberFormatException.class, error.getCause());
    }
  }

  @Test
  void aPageThatIsKeptAndDamagedOrLostIsNoticed() throws Exception {
    try (ServerProgram.Serving serving = serving(Duration.ofMinutes(1))) {
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
