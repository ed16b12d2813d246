/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/shared/gc_globals.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapMemoryPool.hpp"

ThirdPartyHeapMemoryPool::ThirdPartyHeapMemoryPool(ThirdPartyHeap* heap) :
    CollectedMemoryPool("MMTk Heap", InitialHeapSize, MaxHeapSize, true /* support_usage_threshold */),
    _heap(heap) {}

size_t ThirdPartyHeapMemoryPool::used_in_bytes() {
  return _heap->used();
}

MemoryUsage ThirdPartyHeapMemoryPool::get_memory_usage() {
  return _heap->memory_usage();
}
