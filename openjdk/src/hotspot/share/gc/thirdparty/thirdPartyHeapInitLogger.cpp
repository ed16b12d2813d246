/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/shared/gcLogPrecious.hpp"
#include "gc/thirdparty/thirdPartyHeapInitLogger.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"

void ThirdPartyHeapInitLogger::print_gc_specific() {
  log_info_p(gc, init)("Plugin: %s (%s)", ThirdPartyHeapLoader::plugin()->name, ThirdPartyHeapLoader::plugin()->version);
  log_info_p(gc, init)("Plan: %s", ThirdPartyHeapLoader::plan().name);
}

void ThirdPartyHeapInitLogger::print() {
  ThirdPartyHeapInitLogger logger;
  logger.print_all();
}
