/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
package sun.jvm.hotspot.gc.thirdparty;

import sun.jvm.hotspot.debugger.Address;
import sun.jvm.hotspot.runtime.AddressVisitor;
import sun.jvm.hotspot.runtime.VM;
import sun.jvm.hotspot.types.Type;
import sun.jvm.hotspot.types.TypeDataBase;

/**
 * The handles that HotSpot holds in its OopStorages, strong and weak: those of JNI, of threads, of the string table and others. The
 * layout is that of gc/shared/oopStorage.inline.hpp: a storage has an array of blocks, a block has 64 entries and a bit for each that
 * is in use.
 */
final class OopStorages {
  private final TypeDataBase types = VM.getVM().getTypeDataBase();
  private final long wordSize = VM.getVM().getAddressSize();
  private final Type arrayType = types.lookupType("OopStorage::ActiveArray");
  private final long arrayOffset = types.lookupType("OopStorage").getAddressField("_active_array").getOffset();
  private final long blockCountOffset = arrayType.getField("_block_count").getOffset();
  private final long bitmaskOffset = types.lookupType("OopStorage::Block").getField("_allocated_bitmask").getOffset();

  /** Visits each entry that is in use. It may be null. */
  void oopsDo(AddressVisitor visitor) {
    Address storages = types.lookupType("OopStorageSet").getField("_storages[0]").getStaticFieldAddress();
    int count = types.lookupIntConstant("OopStorageSet::all_count");
    for (int i = 0; i < count; i++) {
      Address storage = storages.getAddressAt(i * wordSize);
      if (storage != null) {
        blocksDo(storage.getAddressAt(arrayOffset), visitor);
      }
    }
  }

  private void blocksDo(Address array, AddressVisitor visitor) {
    long count = array.getCIntegerAt(blockCountOffset, wordSize, true);
    for (long i = 0; i < count; i++) {
      entriesDo(array.getAddressAt(arrayType.getSize() + i * wordSize), visitor);
    }
  }

  private void entriesDo(Address block, AddressVisitor visitor) {
    long used = block.getCIntegerAt(bitmaskOffset, wordSize, true);
    for (; used != 0; used &= used - 1) {
      visitor.visitAddress(block.addOffsetTo(Long.numberOfTrailingZeros(used) * wordSize));
    }
  }
}
