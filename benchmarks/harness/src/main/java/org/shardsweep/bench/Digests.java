// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench;

import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * SHA-256 digests of files by name. Lists of them have the form of {@code sha256sum}: digest, two
 * spaces, name.
 */
public final class Digests {
  /** Name of the lists among the resources. */
  static final String LIST = "digests.sha256";

  private final Map<String, String> byName = new TreeMap<>();

  private Digests() {}

  /** The digests of the first {@code batches} output files; a missing file has none. */
  public static Digests ofOutput(Scratch scratch, int batches) throws IOException {
    Digests digests = new Digests();
    for (int batch = 0; batch < batches; batch++) {
      Path file = scratch.output(batch);
      if (Files.exists(file)) {
        digests.byName.put(scratch.benchmark() + "/" + file.getFileName(), of(file));
      } else {
        digests.byName.put(scratch.benchmark() + "/" + file.getFileName(), "missing");
      }
    }
    return digests;
  }

  /** The digest of one text under the name {@code name}. */
  public static Digests ofText(String name, String text) {
    Digests digests = new Digests();
    byte[] bytes = sha().digest(text.getBytes(StandardCharsets.UTF_8));
    digests.byName.put(name, HexFormat.of().formatHex(bytes));
    return digests;
  }

  /** The digests that the output of {@code benchmark} must have, as shipped with it. */
  public static Digests recorded(String benchmark) throws IOException {
    return list(benchmark + "/" + LIST);
  }

  /** The list in the resource {@code name}. */
  static Digests list(String name) throws IOException {
    try (InputStream in = Digests.class.getResourceAsStream("/" + name)) {
      if (in == null) {
        throw new FileNotFoundException("the jar has no " + name);
      }
      return parse(new BufferedReader(new InputStreamReader(in, StandardCharsets.US_ASCII)));
    }
  }

  static Digests parse(BufferedReader reader) throws IOException {
    Digests digests = new Digests();
    for (String line = reader.readLine(); line != null; line = reader.readLine()) {
      int gap = line.indexOf("  ");
      if (gap < 0) {
        throw new IOException("not a line of sha256sum: " + line);
      }
      digests.byName.put(line.substring(gap + 2), line.substring(0, gap));
    }
    return digests;
  }

  /** The names in the list. */
  List<String> names() {
    return List.copyOf(byName.keySet());
  }

  /** The list, one line per file. */
  public List<String> lines() {
    List<String> lines = new ArrayList<>();
    byName.forEach((name, digest) -> lines.add(line(digest, name)));
    return lines;
  }

  static String line(String digest, String name) {
    return digest + "  " + name;
  }

  /** The names of the files here whose digest in {@code expected} is another one, or is not there. */
  public List<String> differences(Digests expected) {
    List<String> names = new ArrayList<>();
    byName.forEach(
        (name, digest) -> {
          if (!digest.equals(expected.byName.get(name))) {
            names.add(name);
          }
        });
    return names;
  }

  /** The digest of {@code file} in hexadecimal. */
  static String of(Path file) throws IOException {
    MessageDigest sha = sha();
    byte[] buffer = new byte[8192];
    try (InputStream in = Files.newInputStream(file)) {
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        sha.update(buffer, 0, n);
      }
    }
    return HexFormat.of().formatHex(sha.digest());
  }

  /** A new SHA-256. */
  public static MessageDigest sha() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
