/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBINS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBINS_HPP

#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "memory/allStatic.hpp"
#include "utilities/debug.hpp"
#include "utilities/globalDefinitions.hpp"

// From which of a thread's bins an object of a given size is allocated. Set
// once, before any code is generated.
class ThirdPartyHeapBins : public AllStatic {
private:
  static ThirdPartyHeapBinTable _table;

public:
  static void set(const ThirdPartyHeapBinTable& table) { _table = table; }

  // Whether the plugin gives threads free cells.
  static bool exist()       { return _table.bins != NULL; }

  // Larger objects have none.
  static size_t max_bytes() { return _table.max_bytes; }

  static bool has(size_t bytes) { return exist() && bytes <= max_bytes(); }

  // By size in words.
  static address table()    { return (address)_table.bins; }

  static uint of(size_t bytes) {
    assert(has(bytes), "no bin has cells of " SIZE_FORMAT " bytes", bytes);
    return _table.bins[(bytes + BytesPerWord - 1) >> LogBytesPerWord];
  }

  static uint cell_bytes(uint bin) { return _table.cell_bytes[bin]; }
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBINS_HPP
