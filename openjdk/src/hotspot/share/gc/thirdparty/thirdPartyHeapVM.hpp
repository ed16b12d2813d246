/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPVM_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPVM_HPP

#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "memory/allStatic.hpp"

// What the plugin may call: thirdPartyHeapPlugin.h says what each function does.
class ThirdPartyHeapVM : AllStatic {
public:
  static const ThirdPartyHeapVMTable* table();
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPVM_HPP
