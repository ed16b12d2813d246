/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPTRACER_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPTRACER_HPP

#include "gc/shared/gcTimer.hpp"
#include "gc/shared/gcTrace.hpp"

class ThirdPartyHeap;

// The flight recorder's events of one pause, which lasts as long as this object. Where concurrent marking runs, a
// collection has two.
class ThirdPartyHeapTracer : public GCTracer {
private:
  STWGCTimer _timer;
  bool       _whole_heap;

  void report_old_collection() const;

public:
  ThirdPartyHeapTracer(GCCause::Cause cause);
  ~ThirdPartyHeapTracer();

  // What lay between the two pauses of a collection, and ends now, in the scope of its GC id.
  static void report_concurrent_mark(const Ticks& start);

  GCTimer* timer() { return &_timer; }

  // With the world stopped, before the plugin begins.
  void report_start(ThirdPartyHeap* heap);
  // With the world still stopped, when the heap is in order again. Objects are counted where the whole heap was looked at.
  void report_end(ThirdPartyHeap* heap, bool whole_heap);
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPTRACER_HPP
