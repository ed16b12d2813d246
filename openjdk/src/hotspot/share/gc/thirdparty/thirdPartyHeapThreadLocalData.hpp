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

// What each thread holds for the plugin. Only Java threads have a mutator.
class ThirdPartyHeapThreadLocalData {
private:
  ThirdPartyHeapMutator* _mutator;

  ThirdPartyHeapThreadLocalData() : _mutator(NULL) {}

  static ThirdPartyHeapThreadLocalData* data(Thread* thread) {
    assert(UseThirdPartyHeap, "Sanity");
    return thread->gc_data<ThirdPartyHeapThreadLocalData>();
  }

public:
  static void create(Thread* thread) {
    new (data(thread)) ThirdPartyHeapThreadLocalData();
  }

  static ThirdPartyHeapMutator* mutator(Thread* thread) {
    return data(thread)->_mutator;
  }

  static void set_mutator(Thread* thread, ThirdPartyHeapMutator* mutator) {
    data(thread)->_mutator = mutator;
  }

  // From the start of a Thread.
  static ByteSize mutator_offset() {
    return Thread::gc_data_offset() + byte_offset_of(ThirdPartyHeapThreadLocalData, _mutator);
  }
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPTHREADLOCALDATA_HPP
