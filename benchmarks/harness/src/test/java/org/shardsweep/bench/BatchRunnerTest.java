// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class BatchRunnerTest {
  private static final int BATCHES = 16;

  @TempDir Path root;
  private Scratch scratch;

  @BeforeEach
  void writeQueries() throws Exception {
    scratch = Scratch.open(root, "some", true);
    Files.createDirectories(scratch.queries(0).getParent());
    Files.createDirectories(scratch.output(0).getParent());
    for (int i = 0; i < BATCHES; i++) {
      Files.writeString(scratch.queries(i), "query " + i + "\n");
    }
  }

  @AfterEach
  void release() throws Exception {
    scratch.close();
  }

  private void run(int threads, Searching searching) throws Exception {
    new BatchRunner(searching, scratch, BATCHES, threads).run();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 16, 100})
  void everyBatchIsSearchedOnceByItsThread(int threads) throws Exception {
    Map<String, String> searchedBy = new ConcurrentHashMap<>();
    run(
        threads,
        (queries, output) -> {
          String query = queries.readLine();
          output.println("hits for " + query);
          assertEquals(null, searchedBy.put(query, Thread.currentThread().getName()));
        });
    assertEquals(BATCHES, searchedBy.size());
    for (int i = 0; i < BATCHES; i++) {
      assertEquals("Query" + i % threads, searchedBy.get("query " + i));
      assertEquals(List.of("hits for query " + i), Files.readAllLines(scratch.output(i)));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 4, 48})
  void anErrorInOneThreadEndsTheIteration(int threads) {
    OutOfMemoryError error = new OutOfMemoryError("for test");
    Throwable thrown =
        assertThrows(
            OutOfMemoryError.class,
            () ->
                run(
                    threads,
                    (queries, output) -> {
                      if (queries.readLine().equals("query 7")) {
                        throw error;
                      }
                    }));
    assertSame(error, thrown);
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      assertEquals(false, thread.getName().startsWith("Query"), thread.getName());
    }
  }

  @Test
  void missingQueriesEndTheIteration() throws Exception {
    Files.delete(scratch.queries(3));
    assertThrows(IOException.class, () -> run(2, (queries, output) -> {}));
  }

  /** An engine that only searches. */
  private interface Searching extends SearchEngine {
    void search(BufferedReader queries, PrintWriter output) throws IOException;

    @Override
    default String name() {
      return "some";
    }

    @Override
    default int presentPerMille() {
      throw new UnsupportedOperationException();
    }

    @Override
    default void buildIndex(List<Verse> verses, Path directory) {
      throw new UnsupportedOperationException();
    }

    @Override
    default void search(Path directory, BufferedReader queries, PrintWriter output)
        throws IOException {
      search(queries, output);
    }
  }
}
