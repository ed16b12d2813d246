/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "classfile/classLoaderDataGraph.hpp"
#include "classfile/javaClasses.hpp"
#include "compiler/oopMap.hpp"
#include "gc/shared/gc_globals.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapCollection.hpp"
#include "gc/thirdparty/thirdPartyHeapRoots.hpp"
#include "logging/log.hpp"
#include "memory/metaspaceUtils.hpp"
#include "memory/universe.hpp"
#include "runtime/os.hpp"

ThirdPartyHeapCollection::ThirdPartyHeapCollection(ThirdPartyHeap* heap, GCCause::Cause cause) :
    _heap(heap),
    _gc_id(),
    _cause(heap, cause),
    _active(),
    _service(SvcGCMarker::FULL),
    _soft_refs(heap->soft_ref_policy()->should_clear_all_soft_refs(), heap->soft_ref_policy()),
    _timer(),
    _start(heap->used()),
    _metaspace_before(MetaspaceUtils::get_combined_statistics()),
    _stats(heap->memory_manager(), cause, "end of major GC"),
    _cpu_time(NULL),
    _time("Pause Full", NULL, cause, true) {
  _timer.register_gc_start();
  _heap->print_at_collection(true /* before */);
  _heap->increment_total_collections(true);
  _heap->ensure_parsability(true);
  verify(VerifyBeforeGC, "Before GC");
  _heap->pre_full_gc_dump(&_timer);
#if COMPILER2_OR_JVMCI
  DerivedPointerTable::clear();
#endif
}

ThirdPartyHeapCollection::~ThirdPartyHeapCollection() {
#if COMPILER2_OR_JVMCI
  DerivedPointerTable::update_pointers();
#endif
  if (!_heap->supports_object_pinning()) {
    ThirdPartyHeapRoots::fix_compiled_code();
  }
  verify(VerifyAfterGC, "After GC");
  // Classes that could not be linked, or were redefined.
  ClassLoaderDataGraph::purge(true /* at_safepoint */);
  advance_soft_reference_clock();
  _heap->resize_all_tlabs();
  _heap->update_capacity_and_used_at_gc();
  _heap->record_whole_heap_examined_timestamp();
  // A program that asks for collections may have as many as it likes.
  const bool near_limit = GCCause::is_allocation_failure_gc(_heap->gc_cause()) &&
                          _heap->overhead_limit()->record(_start, _heap->is_full(), _heap->used());
  _heap->soft_ref_policy()->set_should_clear_all_soft_refs(near_limit);
  MetaspaceUtils::print_metaspace_change(_metaspace_before);
  _heap->print_at_collection(false /* before */);
  _heap->post_full_gc_dump(&_timer);
  _timer.register_gc_end();
  MemoryService::track_memory_usage();
}

void ThirdPartyHeapCollection::verify(bool asked_for, const char* when) {
  if (asked_for && _heap->total_collections() >= VerifyGCStartAt) {
    Universe::verify(when);
  }
}

// The clock, in ms, that SoftReference.get() stamps references with.
void ThirdPartyHeapCollection::advance_soft_reference_clock() {
  const jlong now = os::javaTimeNanos() / NANOSECS_PER_MILLISEC;
  if (now > java_lang_ref_SoftReference::clock()) {
    java_lang_ref_SoftReference::set_clock(now);
  }
}
