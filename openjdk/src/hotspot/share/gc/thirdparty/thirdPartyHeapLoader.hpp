/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPLOADER_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPLOADER_HPP

#include "gc/shared/gc_globals.hpp"
#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "memory/allStatic.hpp"
#include "utilities/compilerWarnings.hpp"

class outputStream;

// The one plugin of this process: finds and opens its file, checks that it is a
// plugin of our ABI, exchanges the tables. Whatever is wrong ends the VM with one
// line and exit code 1.
class ThirdPartyHeapLoader : AllStatic {
private:
  static const ThirdPartyHeapPluginTable* _plugin;
  static ThirdPartyHeapPlan _plan;

  static void find(const char* name, char* path, size_t size);
  static void print_builds(const char* directory, outputStream* st);

public:
  static void load(const char* name = ThirdPartyHeapPlugin);
  static const ThirdPartyHeapPlan& configure(const char* options = ThirdPartyHeapOptions);

  static const ThirdPartyHeapPluginTable* plugin() { return _plugin; }
  static const ThirdPartyHeapPlan& plan()       { return _plan; }

  // "third-party heap, plan P, plugin N (version)"; buf is returned.
  static const char* describe(char* buf, size_t size);

  static void exit_with_error(const char* format, ...) ATTRIBUTE_PRINTF(1, 2);
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPLOADER_HPP
