// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.lucene2;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32;

/**
 * The file {@code segments_N} of an index of Lucene 2.4: a format number (int), the index's version
 * (long), the segments, and a CRC-32 of all that (long), as its documentation of file formats says.
 */
final class SegmentsFile {
  private static final int VERSION_OFFSET = Integer.BYTES;

  private SegmentsFile() {}

  /**
   * Sets the version of the index in {@code directory} to 0. Lucene starts it with the time of day,
   * which would make every build of the same index another one; it is only ever compared.
   */
  static void fixVersion(Path directory) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "segments_*")) {
      for (Path file : files) {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file));
        int body = bytes.capacity() - Long.BYTES;
        bytes.putLong(VERSION_OFFSET, 0);
        CRC32 crc = new CRC32();
        crc.update(bytes.array(), 0, body);
        bytes.putLong(body, crc.getValue());
        Files.write(file, bytes.array());
      }
    }
  }
}
