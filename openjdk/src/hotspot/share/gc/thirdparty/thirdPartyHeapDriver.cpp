/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/shared/gcId.hpp"
#include "gc/shared/gcLocker.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapCollection.hpp"
#include "gc/thirdparty/thirdPartyHeapDriver.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "gc/thirdparty/thirdPartyHeapPhases.hpp"
#include "gc/thirdparty/thirdPartyHeapTracer.hpp"
#include "interpreter/oopMapCache.hpp"
#include "runtime/atomic.hpp"
#include "runtime/init.hpp"
#include "runtime/mutexLocker.hpp"
#include "runtime/os.hpp"
#include "runtime/safepoint.hpp"
#include "runtime/thread.inline.hpp"
#include "runtime/vmThread.hpp"

// Java threads check for safepoints when they lock, others must not.
static Mutex::SafepointCheckFlag check_flag(Thread* thread) {
  return thread->is_Java_thread() ? Mutex::_safepoint_check_flag : Mutex::_no_safepoint_check_flag;
}

void VM_ThirdPartyHeapCollect::doit() {
  _blocked_by_gc_locker = !ThirdPartyHeap::heap()->driver()->collect_at_safepoint();
}

void VM_ThirdPartyHeapCollect::doit_epilogue() {
  OopMapCache::cleanup_old_entries();
  if (Universe::has_reference_pending_list()) {
    Heap_lock->notify_all();
  }
  VM_GC_Sync_Operation::doit_epilogue();
}

ThirdPartyHeapDriver::ThirdPartyHeapDriver(ThirdPartyHeap* heap) :
    NamedThread(),
    _heap(heap),
    _lock(Mutex::leaf, "ThirdPartyHeapDriver_lock", true, Monitor::_safepoint_check_always),
    _enabled(false),
    _state(Idle),
    _completed_lock(Mutex::leaf, "ThirdPartyHeapCompleted_lock", true, Monitor::_safepoint_check_always),
    _completed(0),
    _vm_thread_task(NULL),
    _gc_locker_cleared(false),
    _requested_cause(GCCause::_no_gc),
    _gc_id(GCId::undefined()),
    _marking_gc_id(GCId::undefined()),
    _marking_start(),
    _stop_requested() {
  set_name("MMTk Driver");
  if (!os::create_thread(this, os::cgc_thread)) {
    vm_exit_out_of_memory(0, OOM_MALLOC_ERROR, "Cannot create the GC driver thread.");
  }
  os::start_thread(this);
}

// This thread starts its service when the VM has started up: only then can there be safepoints.
void ThirdPartyHeapDriver::enable_collection() {
  ThirdPartyHeapLoader::plugin()->enable_collection((ThirdPartyHeapThread*)this, _heap->layout());
  MonitorLocker ml(&_lock, Mutex::_no_safepoint_check_flag);
  Atomic::release_store(&_enabled, true);
  ml.notify_all();
}

bool ThirdPartyHeapDriver::is_enabled() const {
  return Atomic::load_acquire(&_enabled);
}

void ThirdPartyHeapDriver::wait_until_enabled(Thread* thread) {
  MonitorLocker ml(thread, &_lock, check_flag(thread));
  while (!_enabled) {
    ml.wait();
  }
}

void ThirdPartyHeapDriver::change_state(State from, State to) {
  MonitorLocker ml(&_lock, Mutex::_no_safepoint_check_flag);
  while (_state != from) {
    ml.wait();
  }
  _state = to;
  ml.notify_all();
}

void ThirdPartyHeapDriver::stop_mutators() {
  _stop_requested = Ticks::now();
  change_state(Idle, StopRequested);
  MonitorLocker ml(&_lock, Mutex::_no_safepoint_check_flag);
  while (_state != Stopped) {
    ml.wait();
  }
}

void ThirdPartyHeapDriver::resume_mutators() {
  change_state(Stopped, ResumeRequested);
  MonitorLocker ml(&_lock, Mutex::_no_safepoint_check_flag);
  while (_state == ResumeRequested) {
    ml.wait();
  }
}

void ThirdPartyHeapDriver::execute_on_vm_thread(void (*task)()) {
  MonitorLocker ml(&_lock, Mutex::_no_safepoint_check_flag);
  assert(_state == Stopped && _vm_thread_task == NULL, "one task at a time, inside a collection");
  _vm_thread_task = task;
  ml.notify_all();
  while (_vm_thread_task != NULL) {
    ml.wait();
  }
}

// On the VM thread, while the workers collect.
void ThirdPartyHeapDriver::wait_for_plugin() {
  MonitorLocker ml(&_lock, Mutex::_no_safepoint_check_flag);
  while (_state != ResumeRequested) {
    if (_vm_thread_task == NULL) {
      ml.wait();
      continue;
    }
    {
      MutexUnlocker mu(&_lock, Mutex::_no_safepoint_check_flag);
      _vm_thread_task();
    }
    _vm_thread_task = NULL;
    ml.notify_all();
  }
}

void ThirdPartyHeapDriver::collect(GCCause::Cause cause, ThirdPartyHeapPause pause) {
  ThirdPartyHeapPhases::log_stop(Ticks::now() - _stop_requested);
  ThirdPartyHeapCollection collection(_heap, cause, pause);
  ThirdPartyHeapPhases::begin_roots();
  Atomic::store(&_gc_id, GCId::current());
  change_state(StopRequested, Stopped);
  wait_for_plugin();
  Atomic::store(&_gc_id, GCId::undefined());
}

// What was asked for is a collection of the whole heap, which a pause that is not full leaves to a later one.
GCCause::Cause ThirdPartyHeapDriver::take_cause(ThirdPartyHeapPause pause) {
  if (pause != THIRD_PARTY_HEAP_PAUSE_FULL || _requested_cause == GCCause::_no_gc) {
    return GCCause::_allocation_failure;
  }
  const GCCause::Cause cause = _requested_cause;
  _requested_cause = GCCause::_no_gc;
  return cause;
}

bool ThirdPartyHeapDriver::collect_at_safepoint() {
  ThirdPartyHeapPause pause;
  GCCause::Cause cause;
  {
    MutexLocker ml(&_lock, Mutex::_no_safepoint_check_flag);
    if (_state != StopRequested) {
      return true; // somebody else has served this request
    }
    if (!_heap->supports_object_pinning() && GCLocker::check_active_before_gc()) {
      _gc_locker_cleared = false;
      return false;
    }
    // Not before: the workers may still be scheduling it.
    pause = (ThirdPartyHeapPause)ThirdPartyHeapLoader::plugin()->pause();
    cause = take_cause(pause);
  }

  if (pause == THIRD_PARTY_HEAP_PAUSE_FINAL_MARK) {
    GCIdMark id(_marking_gc_id);
    if (_marking_start.value() != 0) {
      ThirdPartyHeapTracer::report_concurrent_mark(_marking_start);
    }
    collect(cause, pause);
  } else {
    GCIdMark id;
    _marking_gc_id = GCId::current();
    collect(cause, pause);
  }

  change_state(ResumeRequested, Idle);
  {
    MonitorLocker ml(&_completed_lock, Mutex::_no_safepoint_check_flag);
    _completed++;
    ml.notify_all();
  }
  if (pause == THIRD_PARTY_HEAP_PAUSE_INITIAL_MARK) {
    const bool is_marked = ThirdPartyHeapLoader::plugin()->pause() == THIRD_PARTY_HEAP_PAUSE_FINAL_MARK;
    _marking_start = is_marked ? Ticks() : Ticks::now();
    if (is_marked) {
      serve_request_at_safepoint();
    }
  }
  return true;
}

void ThirdPartyHeapDriver::serve_request_at_safepoint() {
  assert(Thread::current()->is_VM_thread() && SafepointSynchronize::is_at_safepoint(), "only at a safepoint");
  {
    MonitorLocker ml(&_lock, Mutex::_no_safepoint_check_flag);
    while (_state != StopRequested) {
      ml.wait();
    }
  }
  const bool collected = collect_at_safepoint();
  guarantee(collected, "the caller has checked the GCLocker");
}

void ThirdPartyHeapDriver::wait_for_completion(JavaThread* thread, uint completed) {
  MonitorLocker ml(thread, &_completed_lock);
  while (_completed == completed) {
    ml.wait();
  }
}

void ThirdPartyHeapDriver::block_for_gc(JavaThread* thread) {
  // The count only changes at a safepoint, which this thread still holds up.
  wait_for_completion(thread, _completed);
}

// The GCLocker still keeps others from entering, so the next attempt succeeds.
void ThirdPartyHeapDriver::gc_locker_cleared(JavaThread* thread) {
  const uint completed = _completed;
  {
    MonitorLocker ml(thread, &_lock);
    _gc_locker_cleared = true;
    ml.notify_all();
  }
  wait_for_completion(thread, completed);
}

void ThirdPartyHeapDriver::wait_for_gc_locker() {
  MonitorLocker ml(&_lock, Mutex::_no_safepoint_check_flag);
  while (!_gc_locker_cleared && _state == StopRequested) {
    ml.wait();
  }
}

// Of two requests that one collection serves, that of the VM counts: it may be for more than a program's.
void ThirdPartyHeapDriver::set_requested_cause(GCCause::Cause cause) {
  MutexLocker ml(&_lock, check_flag(Thread::current()));
  if (_requested_cause == GCCause::_no_gc || !GCCause::is_user_requested_gc(cause)) {
    _requested_cause = cause;
  }
}

uint ThirdPartyHeapDriver::gc_id() const {
  return Atomic::load(&_gc_id);
}

void ThirdPartyHeapDriver::run() {
  os::set_priority(this, NearMaxPriority);
  wait_init_completed();
  enable_collection();
  while (true) {
    {
      MonitorLocker ml(&_lock, Mutex::_no_safepoint_check_flag);
      while (_state != StopRequested) {
        ml.wait();
      }
    }
    // After the VM thread's end nobody executes this: the process ends while it is waited for.
    VM_ThirdPartyHeapCollect op;
    VMThread::execute(&op);
    if (op.blocked_by_gc_locker()) {
      wait_for_gc_locker();
    }
  }
}
