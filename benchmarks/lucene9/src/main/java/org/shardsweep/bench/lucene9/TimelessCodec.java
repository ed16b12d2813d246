// SPDX-License-Identifier: MIT OR Apache-2.0
package org.shardsweep.bench.lucene9;

import java.io.IOException;
import java.util.Map;
import org.apache.lucene.codecs.Codec;
import org.apache.lucene.codecs.FilterCodec;
import org.apache.lucene.codecs.SegmentInfoFormat;
import org.apache.lucene.index.SegmentInfo;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.IOContext;

/**
 * The default codec, but without the diagnostics that it writes with each segment: they name the
 * time and the machine, which would make every build of the same index another one. It bears the
 * default codec's name, so that readers need not know of it.
 */
final class TimelessCodec extends FilterCodec {
  TimelessCodec() {
    super(Codec.getDefault().getName(), Codec.getDefault());
  }

  @Override
  public SegmentInfoFormat segmentInfoFormat() {
    SegmentInfoFormat format = delegate.segmentInfoFormat();
    return new SegmentInfoFormat() {
      @Override
      public SegmentInfo read(Directory directory, String name, byte[] id, IOContext context)
          throws IOException {
        return format.read(directory, name, id, context);
      }

      @Override
      public void write(Directory directory, SegmentInfo info, IOContext context)
          throws IOException {
        SegmentInfo plain =
            new SegmentInfo(
                info.dir,
                info.getVersion(),
                info.getMinVersion(),
                info.name,
                info.maxDoc(),
                info.getUseCompoundFile(),
                info.getCodec(),
                Map.of(),
                info.getId(),
                info.getAttributes(),
                info.getIndexSort());
        plain.setFiles(info.files());
        format.write(directory, plain, context);
        // Writing adds the file written, which the caller has to know of.
        info.setFiles(plain.files());
      }
    };
  }
}
