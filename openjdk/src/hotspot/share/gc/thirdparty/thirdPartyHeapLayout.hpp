/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPLAYOUT_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPLAYOUT_HPP

#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "memory/allStatic.hpp"

// Collects HotSpot's object and class layout for the plugin's scanning. Fields
// without an accessor are looked up in vmStructs, the table that the
// Serviceability Agent reads.
class ThirdPartyHeapLayoutReader : AllStatic {
private:
  static uint32_t field_offset(const char* type, const char* field);
  static void read_klass(ThirdPartyHeapLayout* layout);
  static void read_mirror_and_reference(ThirdPartyHeapLayout* layout);
  static void read_class_loader_data(ThirdPartyHeapLayout* layout);

public:
  // Needs the core classes to be loaded.
  static ThirdPartyHeapLayout read();
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPLAYOUT_HPP
