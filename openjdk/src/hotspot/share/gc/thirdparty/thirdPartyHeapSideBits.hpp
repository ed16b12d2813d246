/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPSIDEBITS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPSIDEBITS_HPP

#include "memory/allStatic.hpp"
#include "utilities/globalDefinitions.hpp"

// Where a table of MMTk's side metadata that has one bit for each word has the bit of an address: in the byte
// `table[address >> ByteShift]`, at place `address >> BitShift & BitMask`.
class ThirdPartyHeapSideBits : public AllStatic {
public:
  static const int BitShift  = LogBytesPerWord;
  static const int ByteShift = BitShift + LogBitsPerByte;
  static const int BitMask   = BitsPerByte - 1;

  static address byte_of(address table, const void* object) { return table + ((uintptr_t)object >> ByteShift); }
  static u1 mask_of(const void* object)                     { return (u1)(1 << ((uintptr_t)object >> BitShift & BitMask)); }
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPSIDEBITS_HPP
