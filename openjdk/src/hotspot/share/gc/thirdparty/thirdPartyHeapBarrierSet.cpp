/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSet.inline.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSetRuntime.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "gc/thirdparty/thirdPartyHeapThreadLocalData.hpp"
#include "oops/access.inline.hpp"
#include "oops/oop.inline.hpp"
#include "runtime/safepoint.hpp"
#include "runtime/thread.hpp"
#include "runtime/threadSMR.hpp"
#include "utilities/macros.hpp"
#include CPU_HEADER(gc/thirdparty/thirdPartyHeapBarrierSetAssembler)
#ifdef COMPILER1
#include "gc/thirdparty/c1/thirdPartyHeapBarrierSetC1.hpp"
#endif
#ifdef COMPILER2
#include "gc/thirdparty/c2/thirdPartyHeapBarrierSetC2.hpp"
#endif

address       ThirdPartyHeapBarrierSet::_unlogged_bits = NULL;
bool          ThirdPartyHeapBarrierSet::_has_snapshot_barrier = false;
volatile bool ThirdPartyHeapBarrierSet::_snapshot_active = false;

ThirdPartyHeapBarrierSet::ThirdPartyHeapBarrierSet() : BarrierSet(
    make_barrier_set_assembler<ThirdPartyHeapBarrierSetAssembler>(),
    make_barrier_set_c1<ThirdPartyHeapBarrierSetC1>(),
    make_barrier_set_c2<ThirdPartyHeapBarrierSetC2>(),
    NULL /* barrier_set_nmethod */,
    BarrierSet::FakeRtti(BarrierSet::ThirdPartyHeapBarrierSet)) {}

void ThirdPartyHeapBarrierSet::on_thread_create(Thread* thread) {
  ThirdPartyHeapThreadLocalData::create(thread);
}

// The main thread has its mutator since the heap was initialized: it builds the first objects before it is attached.
//
// Other threads are attached under the Threads_lock: no pause sees one in the list without its mutator, or changes
// whether marking is active in between.
void ThirdPartyHeapBarrierSet::on_thread_attach(Thread* thread) {
  ThirdPartyHeapThreadLocalData::set_snapshot_active(thread, _snapshot_active);
  if (thread->is_Java_thread() && ThirdPartyHeapThreadLocalData::mutator(thread) == NULL) {
    ThirdPartyHeapMutator* mutator = ThirdPartyHeapLoader::plugin()->bind_mutator((ThirdPartyHeapThread*)thread);
    ThirdPartyHeapThreadLocalData::set_mutator(thread, mutator);
  }
}

void ThirdPartyHeapBarrierSet::before_thread_detach(Thread* thread) {
  ThirdPartyHeapMutator* const mutator = UseThirdPartyHeap ? ThirdPartyHeapThreadLocalData::mutator(thread) : NULL;
  if (mutator != NULL) {
    ThirdPartyHeapLoader::plugin()->abandon_memory(mutator);
  }
}

// Runs under the Threads_lock, so no collection sees a thread in the list without its mutator.
void ThirdPartyHeapBarrierSet::on_thread_detach(Thread* thread) {
  ThirdPartyHeapMutator* mutator = ThirdPartyHeapThreadLocalData::mutator(thread);
  if (mutator != NULL) {
    ThirdPartyHeapThreadLocalData::set_mutator(thread, NULL);
    ThirdPartyHeapLoader::plugin()->destroy_mutator(mutator);
  }
}

// C2 leaves barriers out of stores into an object that it has just allocated. If a
// collection has made the object old before the compiled code got it, all of these
// stores are announced here. Arrays of primitives have none of these stores.
void ThirdPartyHeapBarrierSet::on_slowpath_allocation_exit(JavaThread* thread, oop new_obj) {
  if (has_object_barrier() && !new_obj->is_typeArray()) {
    remember(new_obj);
  }
}

void ThirdPartyHeapBarrierSet::remember(oop object) {
  if (is_unlogged(object)) {
    ThirdPartyHeapBarrierSetRuntime::remember_object(object, Thread::current());
  }
}

void ThirdPartyHeapBarrierSet::remember_slots(void* first, size_t count) {
  ThirdPartyHeapBarrierSetRuntime::remember_slots(first, count);
}

void ThirdPartyHeapBarrierSet::set_snapshot_active(bool active) {
  assert(SafepointSynchronize::is_at_safepoint() && has_snapshot_barrier(), "in a pause of a plan that marks concurrently");
  _snapshot_active = active;
  for (JavaThreadIteratorWithHandle jtiwh; JavaThread* thread = jtiwh.next(); ) {
    ThirdPartyHeapThreadLocalData::set_snapshot_active(thread, active);
  }
}

void ThirdPartyHeapBarrierSet::keep_alive_slow(oop object) {
  ThirdPartyHeapBarrierSetRuntime::snapshot_object(object, Thread::current());
}

void ThirdPartyHeapBarrierSet::keep_elements_alive(void* first, size_t count) {
  ThirdPartyHeapBarrierSetRuntime::snapshot_slots(first, count);
}
