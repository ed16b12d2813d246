/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
package sun.jvm.hotspot.gc.thirdparty;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import sun.jvm.hotspot.debugger.Address;
import sun.jvm.hotspot.memory.MemRegion;

/**
 * A bit for each word of the reserved range that was marked. The agent's own MarkBits would take memory for the whole range, which is
 * up to 32 GiB whatever the heap's size: here only chunks with a mark have bits.
 */
final class MarkedRegions {
  /** Bytes to which objects are aligned: one bit each. */
  private static final long GRANULE = 8;
  /** Bits of a chunk, which stands for 4 MiB. */
  private static final int CHUNK = (4 << 20) / (int) GRANULE;

  private final Address bottom;
  private final Address top;
  private final Map<Long, BitSet> chunks = new TreeMap<>();

  MarkedRegions(MemRegion reserved) {
    bottom = reserved.start();
    top = reserved.end();
  }

  /** Whether the address lies in the reserved range. */
  boolean covers(Address address) {
    return address.greaterThanOrEqual(bottom) && address.lessThan(top);
  }

  boolean isMarked(Address address) {
    long granule = granuleOf(address);
    return chunk(granule).get(inChunk(granule));
  }

  /** Marks that many bytes. */
  void mark(Address address, long bytes) {
    long granule = granuleOf(address);
    long end = granule + bytes / GRANULE;
    while (granule < end) {
      long next = Math.min(end, (granule / CHUNK + 1) * CHUNK);
      chunk(granule).set(inChunk(granule), inChunk(next - 1) + 1);
      granule = next;
    }
  }

  /** What is marked, in order of address. What lies side by side is in one region. */
  List<MemRegion> regions() {
    List<MemRegion> regions = new ArrayList<>();
    long from = -1;
    long to = -1;
    for (Map.Entry<Long, BitSet> entry : chunks.entrySet()) {
      long first = entry.getKey() * CHUNK;
      BitSet bits = entry.getValue();
      for (int bit = bits.nextSetBit(0); bit >= 0; bit = bits.nextSetBit(bits.nextClearBit(bit))) {
        if (first + bit != to) {
          add(regions, from, to);
          from = first + bit;
        }
        to = first + bits.nextClearBit(bit);
      }
    }
    add(regions, from, to);
    return regions;
  }

  private void add(List<MemRegion> regions, long from, long to) {
    if (from < to) {
      regions.add(new MemRegion(bottom.addOffsetTo(from * GRANULE), bottom.addOffsetTo(to * GRANULE)));
    }
  }

  private long granuleOf(Address address) {
    return address.minus(bottom) / GRANULE;
  }

  private BitSet chunk(long granule) {
    return chunks.computeIfAbsent(granule / CHUNK, number -> new BitSet(CHUNK));
  }

  private static int inChunk(long granule) {
    return (int) (granule % CHUNK);
  }
}
