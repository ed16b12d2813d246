/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/shared/gcId.hpp"
#include "gc/shared/gcName.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapTracer.hpp"
#include "jfr/jfrEvents.hpp"
#include "logging/log.hpp"
#include "memory/iterator.hpp"
#include "runtime/timer.hpp"
#include "utilities/ticks.hpp"

ThirdPartyHeapTracer::ThirdPartyHeapTracer(GCCause::Cause cause) : GCTracer(ThirdParty), _timer(), _whole_heap(false) {
  _timer.register_gc_start();
  report_gc_start(cause, _timer.gc_start());
}

ThirdPartyHeapTracer::~ThirdPartyHeapTracer() {
  _timer.register_gc_end();
  report_gc_end(_timer.gc_end(), _timer.time_partitions());
  if (_whole_heap) {
    report_old_collection();
  }
}

void ThirdPartyHeapTracer::report_old_collection() const {
  EventOldGarbageCollection event(UNTIMED);
  if (event.should_commit()) {
    event.set_gcId(GCId::current());
    event.set_starttime(_timer.gc_start());
    event.set_endtime(_timer.gc_end());
    event.commit();
  }
}

void ThirdPartyHeapTracer::report_start(ThirdPartyHeap* heap) {
  heap->trace_heap_before_gc(this);
}

// The heap's objects are what can be reached: all of them are alive.
void ThirdPartyHeapTracer::report_end(ThirdPartyHeap* heap, bool whole_heap) {
  heap->trace_heap_after_gc(this);
  _whole_heap = whole_heap;
  if (whole_heap) {
    AlwaysTrueClosure is_alive;
    report_object_count_after_gc(&is_alive, NULL /* no HotSpot worker threads */);
  }
}

void ThirdPartyHeapTracer::report_concurrent_mark(const Ticks& start) {
  const Ticks end = Ticks::now();
  log_info(gc)("Concurrent Mark %.3fms", TimeHelper::counter_to_millis((end - start).value()));
  EventGCPhaseConcurrent event(UNTIMED);
  if (event.should_commit()) {
    event.set_gcId(GCId::current());
    event.set_name("Concurrent Mark");
    event.set_starttime(start);
    event.set_endtime(end);
    event.commit();
  }
}
