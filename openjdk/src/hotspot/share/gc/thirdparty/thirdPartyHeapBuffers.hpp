/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBUFFERS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBUFFERS_HPP

#include "gc/thirdparty/thirdPartyHeapSideBits.hpp"
#include "memory/allStatic.hpp"
#include "utilities/debug.hpp"
#include "utilities/globalDefinitions.hpp"

// The memory that plans with bump allocation give a thread. It is no TLAB of HotSpot's: it may be as small as a hole of Immix, its
// end is filled with no object, no bytes behind that are kept for prefetching, and a plan may keep some bytes before each object
// for itself, and have a bit set by which it finds the object. MarkCompact does both. Set once, before any code is generated.
class ThirdPartyHeapBuffers : public AllStatic {
private:
  static bool    _exist;
  static size_t  _extra_header_bytes;
  static address _valid_object_bits;

public:
  static void set(size_t extra_header_bytes, address valid_object_bits) {
    _exist = true;
    _extra_header_bytes = extra_header_bytes;
    _valid_object_bits = valid_object_bits;
  }

  // Whether the plugin gives threads buffers.
  static bool exist()                { return _exist; }
  // Before each object.
  static size_t extra_header_bytes() { return _extra_header_bytes; }
  // Of address 0; NULL if the plan has none.
  static address valid_object_bits() { return _valid_object_bits; }

  // The byte, and the eight that the interpreter and C1 write, belong to the thread that has the buffer: its start and end are those of pages.
  static void set_valid_object_bit(void* object) {
    *ThirdPartyHeapSideBits::byte_of(_valid_object_bits, object) |= ThirdPartyHeapSideBits::mask_of(object);
  }
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBUFFERS_HPP
