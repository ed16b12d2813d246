/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPWORKER_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPWORKER_HPP

#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "runtime/nonJavaThread.hpp"

// A GC thread: HotSpot's thread around a worker of the plugin.
class ThirdPartyHeapWorkerThread : public WorkerThread {
private:
  ThirdPartyHeapWorker* const _worker;

public:
  ThirdPartyHeapWorkerThread(uint id, ThirdPartyHeapWorker* worker);

  virtual bool is_GC_task_thread() const { return true; }
  virtual void run();
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPWORKER_HPP
