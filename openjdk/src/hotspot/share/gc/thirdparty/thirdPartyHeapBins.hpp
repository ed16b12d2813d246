/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBINS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBINS_HPP

#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "memory/allStatic.hpp"
#include "utilities/debug.hpp"
#include "utilities/globalDefinitions.hpp"

// Which of a thread's free lists an object of a given size is allocated from. Set
// once, before any code is generated.
class ThirdPartyHeapBins : public AllStatic {
private:
  static ThirdPartyHeapBinTable _table;

public:
  static void set(const ThirdPartyHeapBinTable& table) { _table = table; }

  // Whether the plugin allocates from free lists.
  static bool exist()       { return _table.bins != NULL; }

  // Larger objects have none.
  static size_t max_bytes() { return _table.max_bytes; }

  static bool has(size_t bytes) { return exist() && bytes <= max_bytes(); }

  // By size in words.
  static address table()    { return (address)_table.bins; }

  static uint of(size_t bytes) {
    assert(has(bytes), "no list has cells of " SIZE_FORMAT " bytes", bytes);
    return _table.bins[(bytes + BytesPerWord - 1) >> LogBytesPerWord];
  }
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBINS_HPP
