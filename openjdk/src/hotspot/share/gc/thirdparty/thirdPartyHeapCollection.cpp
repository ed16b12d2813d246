/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "classfile/javaClasses.hpp"
#include "compiler/oopMap.hpp"
#include "gc/shared/gc_globals.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSet.hpp"
#include "gc/thirdparty/thirdPartyHeapBuffers.hpp"
#include "gc/thirdparty/thirdPartyHeapClassUnloading.hpp"
#include "gc/thirdparty/thirdPartyHeapCollection.hpp"
#include "gc/thirdparty/thirdPartyHeapCounters.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "gc/thirdparty/thirdPartyHeapRoots.hpp"
#include "gc/thirdparty/thirdPartyHeapThreadLocalData.hpp"
#include "logging/log.hpp"
#include "memory/metaspaceUtils.hpp"
#include "memory/universe.hpp"
#include "runtime/os.hpp"
#include "runtime/threadSMR.hpp"

static const char* title(ThirdPartyHeapPause pause) {
  static const char* const titles[] = { "Pause Full", "Pause Young", "Pause Init Mark", "Pause Final Mark" };
  return titles[pause];
}

static SvcGCMarker::reason_type reason(ThirdPartyHeapPause pause) {
  static const SvcGCMarker::reason_type reasons[] =
      { SvcGCMarker::FULL, SvcGCMarker::MINOR, SvcGCMarker::CONCURRENT, SvcGCMarker::CONCURRENT };
  return reasons[pause];
}

static const char* action(ThirdPartyHeapPause pause) {
  static const char* const actions[] =
      { "end of major GC", "end of minor GC", "end of initial mark", "end of final mark" };
  return actions[pause];
}

// The memory that the thread has not used is no one's.
static void take_buffers_away() {
  if (ThirdPartyHeapBuffers::exist()) {
    for (JavaThreadIteratorWithHandle jtiwh; JavaThread* thread = jtiwh.next(); ) {
      ThirdPartyHeapThreadLocalData::set_buffer(thread, NULL, 0);
    }
  }
}

ThirdPartyHeapCollection::ThirdPartyHeapCollection(ThirdPartyHeap* heap, GCCause::Cause cause, ThirdPartyHeapPause pause) :
    _heap(heap),
    _pause(pause),
    _cause(heap, cause),
    _active(),
    _service(reason(pause)),
    _tracer(cause),
    _start(heap->used()),
    _metaspace_before(MetaspaceUtils::get_combined_statistics()),
    _stats(heap->memory_manager(), cause, action(pause), is_whole_heap() /* usage thresholds */),
    _counters(heap->counters()->collector()),
    _cpu_time(&_tracer),
    _time(title(pause), NULL /* the tracer has a phase for it */, cause, true /* log_heap_usage */),
    _phases(timer()) {
  ThirdPartyHeapPhases::begin("Prepare");
  _tracer.report_start(_heap);
  _heap->print_at_collection(true /* before */);
  _heap->increment_total_collections(is_full());
  take_buffers_away();
  verify(VerifyBeforeGC, VerifyOption_Default, "Before GC");
  if (is_full()) {
    _heap->pre_full_gc_dump(timer());
  }
#if COMPILER2_OR_JVMCI
  DerivedPointerTable::clear();
#endif
  ThirdPartyHeapClassUnloading::begin(_pause, cause);
  ThirdPartyHeapRoots::begin_collection(is_partial());
  if (_pause != THIRD_PARTY_HEAP_PAUSE_INITIAL_MARK) {
    ThirdPartyHeapRoots::announce_tag_maps();
  }
  if (_pause == THIRD_PARTY_HEAP_PAUSE_FINAL_MARK) {
    ThirdPartyHeapBarrierSet::set_snapshot_active(false);
  }
}

ThirdPartyHeapCollection::~ThirdPartyHeapCollection() {
#if COMPILER2_OR_JVMCI
  DerivedPointerTable::update_pointers();
#endif
  if (!_heap->supports_object_pinning() && (is_full() || is_partial())) {
    ThirdPartyHeapRoots::fix_compiled_code(is_partial());
  }
  ThirdPartyHeapPhases::begin("Finish");
  ThirdPartyHeapRoots::end_collection();
  ThirdPartyHeapClassUnloading::end(_pause);
  verify(VerifyAfterGC, leaves_marks() ? ThirdPartyHeap::VerifyByMarks : VerifyOption_Default, "After GC");
  advance_soft_reference_clock();
  _heap->update_capacity_and_used_at_gc();
  if (is_full()) {
    end_full_collection();
  } else {
    _heap->overhead_limit()->record_other(_start);
  }
  if (is_whole_heap()) {
    _heap->record_whole_heap_examined_timestamp();
  }
  MetaspaceUtils::print_metaspace_change(_metaspace_before);
  _heap->print_at_collection(false /* before */);
  if (is_full()) {
    _heap->post_full_gc_dump(timer());
  }
  if (_pause != THIRD_PARTY_HEAP_PAUSE_INITIAL_MARK) {
    log_references();
    _tracer.report_gc_reference_stats(_heap->discovered_references());
  }
  _tracer.report_end(_heap, is_whole_heap());
  _heap->counters()->update_all();
  MemoryService::track_memory_usage();
  if (_pause == THIRD_PARTY_HEAP_PAUSE_INITIAL_MARK) {
    // Last: a barrier of this thread would wait for a worker, and the worker waits for this thread.
    ThirdPartyHeapBarrierSet::set_snapshot_active(true);
  }
}

void ThirdPartyHeapCollection::end_full_collection() {
  // A program that asks for collections may have as many as it likes.
  const bool near_limit = GCCause::is_allocation_failure_gc(_heap->gc_cause()) &&
                          _heap->overhead_limit()->record(_start, _heap->is_full(), _heap->used());
  _heap->soft_ref_policy()->set_should_clear_all_soft_refs(near_limit);
  if (!_heap->is_full()) {
    _heap->overhead_limit()->reset();
  }
}

// Plans with barriers mark for the collections to come. Of the others, the project's own keep their marks until the next one.
bool ThirdPartyHeapCollection::leaves_marks() const {
  const ThirdPartyHeapPlan& plan = ThirdPartyHeapLoader::plan();
  return _pause != THIRD_PARTY_HEAP_PAUSE_INITIAL_MARK &&
         (plan.barrier != THIRD_PARTY_HEAP_BARRIER_NONE || plan.is_shardsweep != 0);
}

void ThirdPartyHeapCollection::verify(bool asked_for, VerifyOption option, const char* when) {
  if (asked_for && _heap->total_collections() >= VerifyGCStartAt) {
    Universe::verify(option, when);
  }
}

void ThirdPartyHeapCollection::log_references() {
  const ReferenceProcessorStats& discovered = _heap->discovered_references();
  log_debug(gc, ref)("Discovered: Soft: " SIZE_FORMAT " Weak: " SIZE_FORMAT " Final: " SIZE_FORMAT " Phantom: " SIZE_FORMAT,
                     discovered.soft_count(), discovered.weak_count(), discovered.final_count(), discovered.phantom_count());
}

// The clock, in ms, that SoftReference.get() stamps references with.
void ThirdPartyHeapCollection::advance_soft_reference_clock() {
  const jlong now = os::javaTimeNanos() / NANOSECS_PER_MILLISEC;
  if (now > java_lang_ref_SoftReference::clock()) {
    java_lang_ref_SoftReference::set_clock(now);
  }
}
