/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
package sun.jvm.hotspot.gc.thirdparty;

import java.io.PrintStream;
import java.util.List;

import sun.jvm.hotspot.debugger.Address;
import sun.jvm.hotspot.gc.shared.CollectedHeap;
import sun.jvm.hotspot.gc.shared.CollectedHeapName;
import sun.jvm.hotspot.gc.shared.LiveRegionsClosure;
import sun.jvm.hotspot.memory.MemRegion;
import sun.jvm.hotspot.runtime.VM;
import sun.jvm.hotspot.types.Type;

/** The plugin's heap, as seen from another process. */
public class ThirdPartyHeap extends CollectedHeap {
  public ThirdPartyHeap(Address address) {
    super(address);
  }

  /** Null: the collectors that have a name here are HotSpot's own. */
  @Override
  public CollectedHeapName kind() {
    return null;
  }

  /** Bytes, after the last collection. */
  @Override
  public long capacity() {
    return field("_capacity_at_last_gc");
  }

  /** Bytes, after the last collection. */
  @Override
  public long used() {
    return field("_used_at_last_gc");
  }

  private long field(String name) {
    Type type = VM.getVM().getTypeDataBase().lookupType("CollectedHeap");
    return addr.getCIntegerAt(type.getField(name).getOffset(), VM.getVM().getAddressSize(), true);
  }

  /** The stretches of what can be reached. */
  @Override
  public void liveRegionsIterate(LiveRegionsClosure closure) {
    List<MemRegion> regions = ReachableObjects.find();
    closure.doLiveRegions(() -> regions);
  }

  @Override
  public void printOn(PrintStream out) {
    MemRegion reserved = reservedRegion();
    out.println("Third-party heap [" + reserved.start() + ", " + reserved.end() + "), after the last collection:");
    out.println("   total    = " + capacity() + " bytes");
    out.println("   used     = " + used() + " bytes");
  }
}
