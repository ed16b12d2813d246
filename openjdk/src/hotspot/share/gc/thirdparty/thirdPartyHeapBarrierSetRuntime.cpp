/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSetRuntime.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "gc/thirdparty/thirdPartyHeapThreadLocalData.hpp"
#include "runtime/interfaceSupport.inline.hpp"
#include "runtime/thread.hpp"

JRT_LEAF(void, ThirdPartyHeapBarrierSetRuntime::remember_object(oopDesc* object, Thread* thread))
  ThirdPartyHeapLoader::plugin()->remember_object(ThirdPartyHeapThreadLocalData::mutator(thread), object);
JRT_END

JRT_LEAF(void, ThirdPartyHeapBarrierSetRuntime::remember_slots(void* first, size_t count))
  if (count != 0) {
    ThirdPartyHeapMutator* const mutator = ThirdPartyHeapThreadLocalData::mutator(Thread::current());
    ThirdPartyHeapLoader::plugin()->remember_slots(mutator, first, count);
  }
JRT_END

JRT_LEAF(void, ThirdPartyHeapBarrierSetRuntime::snapshot_object(oopDesc* object, Thread* thread))
  if (object != NULL) {
    ThirdPartyHeapLoader::plugin()->snapshot_object(ThirdPartyHeapThreadLocalData::mutator(thread), object);
  }
JRT_END

JRT_LEAF(void, ThirdPartyHeapBarrierSetRuntime::snapshot_slots(void* first, size_t count))
  if (count != 0) {
    ThirdPartyHeapMutator* const mutator = ThirdPartyHeapThreadLocalData::mutator(Thread::current());
    ThirdPartyHeapLoader::plugin()->snapshot_slots(mutator, first, count);
  }
JRT_END
