/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPCOLLECTION_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPCOLLECTION_HPP

#include "gc/shared/collectedHeap.hpp"
#include "gc/shared/collectorCounters.hpp"
#include "gc/shared/gcTraceTime.inline.hpp"
#include "gc/shared/gcVMOperations.hpp"
#include "gc/shared/isGCActiveMark.hpp"
#include "gc/thirdparty/thirdPartyHeapOverheadLimit.hpp"
#include "gc/thirdparty/thirdPartyHeapPhases.hpp"
#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "gc/thirdparty/thirdPartyHeapTracer.hpp"
#include "memory/metaspaceStats.hpp"
#include "services/memoryService.hpp"

class ThirdPartyHeap;

// One pause of a collection, as the VM sees it: what has to be done before and
// after it with the world stopped, its log line, events and statistics. Lives on the
// VM thread, in the scope of its GC id.
class ThirdPartyHeapCollection : public StackObj {
private:
  ThirdPartyHeap* const   _heap;
  const ThirdPartyHeapPause _pause;
  GCCauseSetter           _cause;
  IsGCActiveMark          _active;
  SvcGCMarker             _service;
  ThirdPartyHeapTracer    _tracer;
  const ThirdPartyHeapOverheadLimit::Start _start;
  const MetaspaceCombinedStats _metaspace_before;
  TraceMemoryManagerStats _stats;
  TraceCollectorStats     _counters;
  GCTraceCPUTime          _cpu_time;
  GCTraceTime(Info, gc)   _time;
  ThirdPartyHeapPhases    _phases;

  bool is_full() const { return _pause == THIRD_PARTY_HEAP_PAUSE_FULL; }
  bool is_partial() const { return _pause == THIRD_PARTY_HEAP_PAUSE_PARTIAL; }
  // Whether all objects were looked at when it ends.
  bool is_whole_heap() const { return is_full() || _pause == THIRD_PARTY_HEAP_PAUSE_FINAL_MARK; }
  void end_full_collection();
  bool leaves_marks() const;
  void verify(bool asked_for, VerifyOption option, const char* when);
  void log_references();
  static void advance_soft_reference_clock();

public:
  ThirdPartyHeapCollection(ThirdPartyHeap* heap, GCCause::Cause cause, ThirdPartyHeapPause pause);
  ~ThirdPartyHeapCollection();

  GCTimer* timer() { return _tracer.timer(); }
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPCOLLECTION_HPP
