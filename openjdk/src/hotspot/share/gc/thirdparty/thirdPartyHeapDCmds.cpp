/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/thirdparty/thirdPartyHeapDCmds.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "jni.h"
#include "runtime/interfaceSupport.inline.hpp"
#include "runtime/thread.hpp"
#include "services/diagnosticFramework.hpp"

static void harness_begin_in_vm(JavaThread* thread) {
  ThirdPartyHeapLoader::plugin()->harness_begin((ThirdPartyHeapThread*)thread);
}

static void harness_end_in_vm(JavaThread* thread) {
  ThirdPartyHeapLoader::plugin()->harness_end((ThirdPartyHeapThread*)thread);
}

void ThirdPartyHeapHarnessBeginDCmd::execute(DCmdSource source, TRAPS) {
  harness_begin_in_vm(THREAD);
}

void ThirdPartyHeapHarnessEndDCmd::execute(DCmdSource source, TRAPS) {
  harness_end_in_vm(THREAD);
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
