/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPINITLOGGER_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPINITLOGGER_HPP

#include "gc/shared/gcInitLogger.hpp"

// The lines of -Xlog:gc+init: those of every collector, then the plugin's.
class ThirdPartyHeapInitLogger : public GCInitLogger {
protected:
  virtual void print_gc_specific();

public:
  static void print();
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPINITLOGGER_HPP
