// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.dacapo.harness.UsageException;

/**
 * A benchmark's own folder below the scratch directory: {@code index}, {@code queries} and {@code
 * output}, and a lock that keeps a second run out. Only files in these three are ever deleted.
 */
public final class Scratch implements AutoCloseable {
  private static final String LOCK = "lock";

  private final String benchmark;
  private final Path directory;
  private final boolean preserve;
  private final FileChannel channel;

  private Scratch(String benchmark, Path directory, boolean preserve, FileChannel channel) {
    this.benchmark = benchmark;
    this.directory = directory;
    this.preserve = preserve;
    this.channel = channel;
  }

  /**
   * Makes and locks the folder of {@code benchmark} below {@code root}.
   *
   * @param preserve whether to leave the files there on {@link #close}
   * @throws UsageException when it cannot be written, is not one of ours, or is in use
   */
  public static Scratch open(Path root, String benchmark, boolean preserve) throws UsageException {
    Path directory = root.resolve(benchmark);
    try {
      boolean fresh = Files.notExists(directory);
      Files.createDirectories(directory);
      if (!fresh && !Files.exists(directory.resolve(LOCK)) && !isEmpty(directory)) {
        throw unusable(directory, "it has files of someone else");
      }
      return new Scratch(benchmark, directory, preserve, lock(directory));
    } catch (IOException e) {
      throw unusable(directory, e.toString());
    }
  }

  private static FileChannel lock(Path directory) throws IOException, UsageException {
    FileChannel channel =
        FileChannel.open(
            directory.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    FileLock lock = null;
    try {
      lock = channel.tryLock();
    } catch (OverlappingFileLockException e) {
      // Held within this very process: reported as any other holder is.
    } finally {
      if (lock == null) {
        channel.close();
      }
    }
    if (lock == null) {
      throw unusable(directory, "another run is using it");
    }
    return channel;
  }

  private static UsageException unusable(Path directory, String why) {
    return new UsageException(
        UsageException.BAD_COMMAND_LINE,
        "cannot use " + directory + ": " + why + "; give another --scratch-directory");
  }

  private static boolean isEmpty(Path directory) throws IOException {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
      return !entries.iterator().hasNext();
    }
  }

  /** The name of batch {@code number}'s files. */
  static String batchName(int number) {
    String digits = "00" + number;
    return digits.substring(digits.length() - 3) + ".txt";
  }

  /** The benchmark's name. */
  public String benchmark() {
    return benchmark;
  }

  /** The folder that all others are in. */
  public Path directory() {
    return directory;
  }

  /** The folder of the index. */
  public Path index() {
    return directory.resolve("index");
  }

  /** The queries of batch {@code number}. */
  Path queries(int number) {
    return directory.resolve("queries").resolve(batchName(number));
  }

  /** The output of batch {@code number}. */
  public Path output(int number) {
    return directory.resolve("output").resolve(batchName(number));
  }

  /** Copies the index and the first {@code batches} query files out of the jar. */
  public void unpack(int batches) throws IOException {
    clear();
    Files.createDirectories(index());
    Files.createDirectories(queries(0).getParent());
    Files.createDirectories(output(0).getParent());
    String resources = benchmark + "/index/";
    for (String name : Digests.list(resources + Digests.LIST).names()) {
      copy(resources + name, index().resolve(name));
    }
    for (int batch = 0; batch < batches; batch++) {
      copy(benchmark + "/queries/" + batchName(batch), queries(batch));
    }
  }

  private static void copy(String resource, Path to) throws IOException {
    try (InputStream in = Scratch.class.getResourceAsStream("/" + resource)) {
      if (in == null) {
        throw new FileNotFoundException("the jar has no " + resource);
      }
      Files.copy(in, to, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  /** Deletes the output of an earlier iteration, which must not pass for that of the next. */
  public void clearOutput() throws IOException {
    deleteFiles(output(0).getParent());
  }

  private void clear() throws IOException {
    deleteFiles(index());
    deleteFiles(queries(0).getParent());
    clearOutput();
  }

  private static void deleteFiles(Path folder) throws IOException {
    if (Files.isDirectory(folder)) {
      try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
        for (Path file : files) {
          Files.delete(file);
        }
      }
    }
  }

  /** Deletes the files, unless they are to be preserved, and lets the next run in. */
  @Override
  public void close() throws IOException {
    try {
      if (!preserve) {
        clear();
      }
    } finally {
      channel.close();
    }
  }
}
