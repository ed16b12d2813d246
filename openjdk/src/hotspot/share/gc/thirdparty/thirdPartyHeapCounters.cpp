/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/shared/gc_globals.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapCounters.hpp"
#include "memory/metaspaceCounters.hpp"
#include "memory/resourceArea.hpp"

// jstat's columns of old space and full collections are those of generation 1 and collector 1.
ThirdPartyHeapCounters::ThirdPartyHeapCounters(ThirdPartyHeap* heap) :
    GenerationCounters("MMTk heap", 1 /* ordinal */, 1 /* spaces */, InitialHeapSize, MaxHeapSize, heap->capacity()),
    _heap(heap),
    _collector("MMTk collections", 1 /* ordinal */),
    _used(NULL),
    _capacity(NULL) {
  if (UsePerfData) {
    create_space();
  }
}

void ThirdPartyHeapCounters::create_space() {
  EXCEPTION_MARK;
  ResourceMark rm;
  const char* const space = PerfDataManager::name_space(name_space(), "space", 0 /* ordinal */);
  PerfDataManager::create_string_constant(SUN_GC, PerfDataManager::counter_name(space, "name"), "heap", CHECK);
  PerfDataManager::create_constant(SUN_GC, PerfDataManager::counter_name(space, "maxCapacity"), PerfData::U_Bytes,
                                   (jlong)MaxHeapSize, CHECK);
  PerfDataManager::create_constant(SUN_GC, PerfDataManager::counter_name(space, "initCapacity"), PerfData::U_Bytes,
                                   (jlong)_heap->capacity(), CHECK);
  _capacity = PerfDataManager::create_variable(SUN_GC, PerfDataManager::counter_name(space, "capacity"), PerfData::U_Bytes,
                                               new Sampler(_heap, &ThirdPartyHeap::capacity), CHECK);
  _used = PerfDataManager::create_variable(SUN_GC, PerfDataManager::counter_name(space, "used"), PerfData::U_Bytes,
                                           new Sampler(_heap, &ThirdPartyHeap::used), CHECK);
}

void ThirdPartyHeapCounters::update_all() {
  if (UsePerfData) {
    _current_size->set_value(_heap->capacity());
    _capacity->set_value(_heap->capacity());
    _used->set_value(_heap->used());
    MetaspaceCounters::update_performance_counters();
  }
}
