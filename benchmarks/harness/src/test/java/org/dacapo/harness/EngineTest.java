// SPDX-License-Identifier: MIT OR Apache-2.0
package org.dacapo.harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardsweep.bench.SearchEngine;
import org.shardsweep.bench.Verse;

/** What every engine has to do; its module has a subclass, and the index and digests. */
public abstract class EngineTest {
  private final SearchEngine engine;
  private final int shown;

  @TempDir Path scratch;

  /** Tests {@code engine}, which shows no more than {@code shown} hits of a query. */
  protected EngineTest(SearchEngine engine, int shown) {
    this.engine = engine;
    this.shown = shown;
  }

  private Captured run(String... options) throws Exception {
    List<String> args = new ArrayList<>(List.of(options));
    args.addAll(List.of("-s", "small", "--scratch-directory", scratch.toString(), engine.name()));
    return Captured.of(() -> TestHarness.run(args.toArray(String[]::new)));
  }

  /** The lines printed on {@code queries}, but for what the engine shows of a hit's text. */
  private List<String> search(List<Verse> verses, String queries) throws Exception {
    engine.buildIndex(verses, scratch);
    StringWriter text = new StringWriter();
    engine.search(
        scratch, new BufferedReader(new StringReader(queries)), new PrintWriter(text, true));
    return text.toString().lines().filter(line -> !line.startsWith("\t\t")).toList();
  }

  @Test
  void findsWhatIsThere() throws Exception {
    List<Verse> verses =
        List.of(
            new Verse("A1:1", "the small cat sees the large dog"),
            new Verse("A1:2", "the dog sees nothing"),
            new Verse("A1:3", "small birds sing"));
    String queries = "birds\nsmall\n\"large dog\"\n+dog -cat\nsi*\nn?thing\nelephant\n";
    assertEquals(
        List.of(
            "1 total matching documents for birds", "\t1. A1:3",
            "2 total matching documents for small", "\t1. A1:3", "\t2. A1:1",
            "1 total matching documents for \"large dog\"", "\t1. A1:1",
            "1 total matching documents for +dog -cat", "\t1. A1:2",
            "1 total matching documents for si*", "\t1. A1:3",
            "1 total matching documents for n?thing", "\t1. A1:2",
            "0 total matching documents for elephant"),
        search(verses, queries));
  }

  @Test
  void readersComeAndGoAtOnce() throws Exception {
    engine.buildIndex(List.of(new Verse("A1:1", "a word")), scratch);
    ExecutorService threads = Executors.newFixedThreadPool(3);
    Callable<Void> search =
        () -> {
          BufferedReader queries = new BufferedReader(new StringReader("word\n"));
          engine.search(scratch, queries, new PrintWriter(Writer.nullWriter()));
          return null;
        };
    try {
      for (Future<Void> done : threads.invokeAll(Collections.nCopies(20000, search))) {
        done.get();
      }
    } finally {
      threads.shutdown();
    }
  }

  @Test
  void noMoreIsShownThanThePagesHave() throws Exception {
    List<Verse> verses = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      verses.add(new Verse("A1:" + i, "same words"));
    }
    List<String> lines = search(verses, "words\n");
    assertEquals("30 total matching documents for words", lines.get(0));
    assertEquals("\t" + shown + ". A1:" + (shown - 1), lines.get(shown));
    assertEquals(shown + 1, lines.size());
  }

  /** Had it other bytes in each build, two jars of one revision would not be the same benchmark. */
  @Test
  void theIndexIsTheSameInEveryBuild() throws Exception {
    assertEquals(resource("/index.sha256"), resource("/" + engine.name() + "/index/digests.sha256"));
  }

  private static String resource(String name) throws Exception {
    try (InputStream in = EngineTest.class.getResourceAsStream(name)) {
      return new String(in.readAllBytes(), StandardCharsets.US_ASCII);
    }
  }

  @Test
  void passesWhateverTheNumberOfThreads() throws Exception {
    for (String threads : List.of("1", "5", "48")) {
      Captured captured = run("-n", "2", "-t", threads);
      assertEquals(0, captured.status(), captured.err());
      assertTrue(captured.err().contains(engine.name() + " PASSED in "), captured.err());
    }
  }

  @Test
  void corruptedOutputFails() throws Exception {
    Captured captured = run("-c", Corrupter.class.getName());
    assertEquals(TestHarness.EXIT_INVALID, captured.status());
    assertTrue(captured.err().contains("wrong digest: " + engine.name() + "/011.txt"));
    assertTrue(captured.err().contains(engine.name() + " FAILED ="), captured.err());
    assertFalse(captured.err().contains("PASSED"), captured.err());
  }

  @Test
  void lackOfMemoryIsAnErrorAndNoHang() throws Exception {
    Path log = scratch.resolve("log");
    String classPath =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC", "-Xms16m", "-Xmx16m", "-cp", classPath, "Harness",
                "-c", Hog.class.getName(), "-t", "16", "-s", "small",
                "--scratch-directory", scratch.toString(), engine.name())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    boolean ended = process.waitFor(300, TimeUnit.SECONDS);
    process.destroyForcibly();
    String output = Files.readString(log);
    assertTrue(ended, output);
    assertEquals(TestHarness.EXIT_ERROR, process.exitValue(), output);
    assertTrue(output.contains("OutOfMemoryError"), output);
    assertFalse(output.contains("PASSED"), output);
  }

  /** Spoils one byte of the output between an iteration and its validation. */
  public static final class Corrupter extends Callback {
    /** Called by the harness. */
    public Corrupter(CommandLineArgs args) {
      super(args);
    }

    @Override
    public void stop(long duration) {
      super.stop(duration);
      try {
        Path folder = Path.of(args.getScratchDir(), args.benchmarks().get(0), "output");
        byte[] bytes = Files.readAllBytes(folder.resolve("011.txt"));
        bytes[bytes.length / 2] ^= 1;
        Files.write(folder.resolve("011.txt"), bytes);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Leaves so little of the heap that the threads cannot all search. */
  public static final class Hog extends Callback {
    private final List<byte[]> hoard = new ArrayList<>();

    /** Called by the harness. */
    public Hog(CommandLineArgs args) {
      super(args);
    }

    @Override
    public void start(String benchmark) {
      super.start(benchmark);
      try {
        while (true) {
          hoard.add(new byte[1 << 16]);
        }
      } catch (OutOfMemoryError e) {
        // Enough for the threads to start and for this message to be printed, and no more.
        hoard.subList(0, 4).clear();
      }
    }
  }
}
