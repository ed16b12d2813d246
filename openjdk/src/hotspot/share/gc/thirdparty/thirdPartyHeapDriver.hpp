/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPDRIVER_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPDRIVER_HPP

#include "gc/shared/gcCause.hpp"
#include "gc/shared/gcVMOperations.hpp"
#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "runtime/mutex.hpp"
#include "runtime/nonJavaThread.hpp"
#include "utilities/ticks.hpp"

class ThirdPartyHeap;

// The safepoint of one collection: keeps the VM thread inside doit() while the plugin's workers collect.
class VM_ThirdPartyHeapCollect : public VM_GC_Sync_Operation {
private:
  bool _blocked_by_gc_locker;

public:
  VM_ThirdPartyHeapCollect() : _blocked_by_gc_locker(false) {}

  virtual VMOp_Type type() const { return VMOp_ThirdPartyHeapCollect; }
  virtual void doit();
  virtual void doit_epilogue();

  bool blocked_by_gc_locker() const { return _blocked_by_gc_locker; }
};

// Stops and resumes the world for the plugin. Its workers are not the VM thread
// and cannot wait for a safepoint that they are to work in, so this thread
// requests it for them:
//
//   worker                driver                     VM thread
//   stop_mutators()  -->  StopRequested: execute --> collect_at_safepoint()
//        returns     <--------------------------------- Stopped
//   (collects)                                       (waits)
//   resume_mutators() ------------------------------> ResumeRequested
//        returns     <--------------------------------- Idle; safepoint ends
//
// When the VM thread is itself at a safepoint and wants a collection (heap
// inspection), it serves the worker without the driver; the driver's operation,
// if it was already on its way, then finds nothing to do.
//
// Like the VM thread, this thread lives until the process ends: agents and the dump of
// a class archive run Java code, which may need a collection, after CollectedHeap::stop().
class ThirdPartyHeapDriver : public NamedThread {
private:
  enum State { Idle, StopRequested, Stopped, ResumeRequested };

  ThirdPartyHeap* const _heap;
  mutable Monitor _lock;
  bool            _enabled;           // the plugin may ask for collections
  State           _state;
  Monitor         _completed_lock;    // of those who wait for a collection: another one, so that steps within it do not wake them
  volatile uint   _completed;         // pauses since the start
  void          (*_vm_thread_task)(); // for the VM thread to run while it waits for the plugin
  bool            _gc_locker_cleared; // the last thread has left its JNI critical region
  GCCause::Cause  _requested_cause;   // of the next collection of the whole heap, if somebody asked for one
  volatile uint   _gc_id;             // of the collection that is going on
  uint            _marking_gc_id;     // of the last pause other than a final mark, which takes the id of its initial mark
  Ticks           _marking_start;     // where concurrent marking runs: when the initial pause has ended
  Ticks           _stop_requested;    // when the worker has asked for it the last time

  void enable_collection();
  void change_state(State from, State to);
  void wait_for_plugin();
  GCCause::Cause take_cause(ThirdPartyHeapPause pause);
  void collect(GCCause::Cause cause, ThirdPartyHeapPause pause);
  void wait_for_gc_locker();
  void wait_for_completion(JavaThread* thread, uint completed);

public:
  ThirdPartyHeapDriver(ThirdPartyHeap* heap);

  virtual void run();

  bool is_enabled() const;
  // While the VM starts up: by a Java thread that has found the heap full or wants a collection, or the VM thread at a safepoint.
  void wait_until_enabled(Thread* thread);

  // By a worker.
  void stop_mutators();
  void resume_mutators();

  // By a worker inside a collection: for what HotSpot allows the VM thread alone.
  void execute_on_vm_thread(void (*task)());

  // By the VM thread at a safepoint. Where a final mark is due right after an initial one, it does both. False if JNI critical
  // regions forbid a collection now.
  bool collect_at_safepoint();
  // By the VM thread at a safepoint, when it has itself requested the collection, or a final mark follows: waits for the worker to
  // come.
  void serve_request_at_safepoint();

  // By a Java thread: waits until the next pause is over. The caller says what it needs beyond that.
  void block_for_gc(JavaThread* thread);
  // By the last Java thread that leaves a JNI critical region which held a collection up.
  void gc_locker_cleared(JavaThread* thread);

  // Of the collection that the calling thread asks for next.
  void set_requested_cause(GCCause::Cause cause);

  // Of the collection that is going on, or else undefined: what the worker's lines in the log carry.
  uint gc_id() const;
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPDRIVER_HPP
