/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPDCMDS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPDCMDS_HPP

#include "services/diagnosticCommand.hpp"

// The two ends of the timed part of a benchmark, between which MMTk gathers its
// statistics: for jcmd, and through the DiagnosticCommand MBean for the callbacks
// of benchmark harnesses. libjvm also exports them as harness_begin(id) and
// harness_end(id), which the field's native probes call.

class ThirdPartyHeapHarnessBeginDCmd : public DCmd {
public:
  ThirdPartyHeapHarnessBeginDCmd(outputStream* output, bool heap) : DCmd(output, heap) {}
  static const char* name()        { return "MMTk.harness_begin"; }
  static const char* description() { return "Collect, and start MMTk's statistics, once in a run."; }
  static const char* impact()      { return "Medium: a collection."; }
  virtual void execute(DCmdSource source, TRAPS);
};

class ThirdPartyHeapHarnessEndDCmd : public DCmd {
public:
  ThirdPartyHeapHarnessEndDCmd(outputStream* output, bool heap) : DCmd(output, heap) {}
  static const char* name()        { return "MMTk.harness_end"; }
  static const char* description() { return "Stop MMTk's statistics and print them to standard output."; }
  static const char* impact()      { return "Low."; }
  virtual void execute(DCmdSource source, TRAPS);
};

class ThirdPartyHeapDCmds : AllStatic {
public:
  static void register_all();
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPDCMDS_HPP
