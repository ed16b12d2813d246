/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSet.hpp"
#include "gc/thirdparty/thirdPartyHeapDCmds.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "jni.h"
#include "runtime/atomic.hpp"
#include "runtime/interfaceSupport.inline.hpp"
#include "runtime/thread.hpp"
#include "services/diagnosticFramework.hpp"

// MMTk gathers statistics of one part of a run.
enum HarnessState { NotBegun, Beginning, Running, Ended };
static volatile int _state = NotBegun;

// Whether they have begun, from zero. They are of a heap that MMTk collects before: in full, unless concurrent marking runs. Then
// that would end with it, and is ended here.
static bool harness_begin_in_vm(JavaThread* thread) {
  if (Atomic::cmpxchg(&_state, (int)NotBegun, (int)Beginning) != NotBegun) {
    return false;
  }
  ThirdPartyHeap* const heap = ThirdPartyHeap::heap();
  if (ThirdPartyHeapBarrierSet::is_snapshot_active() || !heap->can_collect()) {
    heap->collect(GCCause::_jvmti_force_gc);
  }
  ThirdPartyHeapLoader::plugin()->harness_begin((ThirdPartyHeapThread*)thread);
  Atomic::release_store(&_state, (int)Running);
  return true;
}

// Whether they have ended, and been printed.
static bool harness_end_in_vm(JavaThread* thread) {
  if (Atomic::cmpxchg(&_state, (int)Running, (int)Ended) != Running) {
    return false;
  }
  ThirdPartyHeapLoader::plugin()->harness_end((ThirdPartyHeapThread*)thread);
  return true;
}

void ThirdPartyHeapHarnessBeginDCmd::execute(DCmdSource source, TRAPS) {
  if (!harness_begin_in_vm(THREAD)) {
    output()->print_cr("MMTk's statistics are of one part of a run, which has begun already.");
  }
}

void ThirdPartyHeapHarnessEndDCmd::execute(DCmdSource source, TRAPS) {
  if (!harness_end_in_vm(THREAD)) {
    output()->print_cr("MMTk's statistics are not running: MMTk.harness_begin starts them, once.");
  }
}

void ThirdPartyHeapDCmds::register_all() {
  const uint32_t full_export = DCmd_Source_Internal | DCmd_Source_AttachAPI | DCmd_Source_MBean;
  DCmdFactory::register_DCmdFactory(new DCmdFactoryImpl<ThirdPartyHeapHarnessBeginDCmd>(full_export, true, false));
  DCmdFactory::register_DCmdFactory(new DCmdFactoryImpl<ThirdPartyHeapHarnessEndDCmd>(full_export, true, false));
}

// Called by native code of a Java thread. Other collectors have no statistics to keep.
extern "C" {

JNIEXPORT void JNICALL harness_begin(size_t id) {
  if (UseThirdPartyHeap) {
    ThreadInVMfromNative transition(JavaThread::current());
    harness_begin_in_vm(JavaThread::current());
  }
}

JNIEXPORT void JNICALL harness_end(size_t id) {
  if (UseThirdPartyHeap) {
    ThreadInVMfromNative transition(JavaThread::current());
    harness_end_in_vm(JavaThread::current());
  }
}

}
