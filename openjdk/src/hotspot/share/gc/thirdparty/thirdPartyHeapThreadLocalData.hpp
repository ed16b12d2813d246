/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPTHREADLOCALDATA_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPTHREADLOCALDATA_HPP

#include "gc/shared/gc_globals.hpp"
#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "runtime/thread.hpp"
#include "utilities/debug.hpp"
#include "utilities/sizes.hpp"

// What each thread holds for the plugin. Only Java threads have a mutator, and cells in their free lists.
class ThirdPartyHeapThreadLocalData {
private:
  ThirdPartyHeapMutator*  _mutator;
  ThirdPartyHeapFreeLists _free_lists;

  ThirdPartyHeapThreadLocalData() : _mutator(NULL), _free_lists() {}

  static ThirdPartyHeapThreadLocalData* data(Thread* thread) {
    assert(UseThirdPartyHeap, "Sanity");
    return thread->gc_data<ThirdPartyHeapThreadLocalData>();
  }

public:
  static void create(Thread* thread) {
    STATIC_ASSERT(sizeof(ThirdPartyHeapThreadLocalData) <= sizeof(GCThreadLocalData));
    new (data(thread)) ThirdPartyHeapThreadLocalData();
  }

  static ThirdPartyHeapMutator* mutator(Thread* thread) {
    return data(thread)->_mutator;
  }

  static void set_mutator(Thread* thread, ThirdPartyHeapMutator* mutator) {
    data(thread)->_mutator = mutator;
  }

  static uint64_t refilled_bytes(Thread* thread) {
    return data(thread)->_free_lists.refilled_bytes;
  }

  // The first cell of a free list, which it leaves; NULL if there is none. Compiled code does the same.
  static void* pop(Thread* thread, uint bin) {
    void*& head = data(thread)->_free_lists.heads[bin];
    void* const cell = head;
    if (cell != NULL) {
      head = *(void**)cell;
    }
    return cell;
  }

  // From the start of a Thread, as all offsets here.
  static ByteSize mutator_offset() {
    return Thread::gc_data_offset() + byte_offset_of(ThirdPartyHeapThreadLocalData, _mutator);
  }

  static ByteSize free_lists_offset() {
    return Thread::gc_data_offset() + byte_offset_of(ThirdPartyHeapThreadLocalData, _free_lists);
  }
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPTHREADLOCALDATA_HPP
