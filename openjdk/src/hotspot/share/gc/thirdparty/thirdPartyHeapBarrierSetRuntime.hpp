/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSETRUNTIME_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSETRUNTIME_HPP

#include "memory/allStatic.hpp"
#include "oops/oopsHierarchy.hpp"

class Thread;

// What compiled code and the interpreter call behind their inline part of a barrier.
// These are leaf calls: they neither block nor reach a safepoint.
class ThirdPartyHeapBarrierSetRuntime : public AllStatic {
public:
  static void remember_object(oopDesc* object, Thread* thread);
  static void remember_slots(void* first, size_t count);
  // Both do nothing for null.
  static void snapshot_object(oopDesc* object, Thread* thread);
  static void snapshot_slots(void* first, size_t count);
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSETRUNTIME_HPP
