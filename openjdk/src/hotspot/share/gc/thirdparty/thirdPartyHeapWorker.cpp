/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/thirdparty/thirdPartyHeapLoader.hpp"
#include "gc/thirdparty/thirdPartyHeapWorker.hpp"
#include "runtime/os.hpp"

ThirdPartyHeapWorkerThread::ThirdPartyHeapWorkerThread(uint id, ThirdPartyHeapWorker* worker) : _worker(worker) {
  set_id(id);
  set_name("MMTk Worker#%u", id);
}

void ThirdPartyHeapWorkerThread::run() {
  os::set_priority(this, NearMaxPriority);
  ThirdPartyHeapLoader::plugin()->run_worker((ThirdPartyHeapThread*)this, _worker);
}
