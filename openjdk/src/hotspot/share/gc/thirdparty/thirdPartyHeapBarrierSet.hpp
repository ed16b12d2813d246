/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSET_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSET_HPP

#include "gc/shared/barrierSet.hpp"

// The plans so far stop the world and trace all of it: loads and stores need no
// barrier. What remains is to bind a mutator to each Java thread.
class ThirdPartyHeapBarrierSet : public BarrierSet {
  friend class VMStructs;

public:
  ThirdPartyHeapBarrierSet();

  virtual void print_on(outputStream* st) const {}

  virtual void on_thread_create(Thread* thread);
  virtual void on_thread_attach(Thread* thread);
  virtual void on_thread_detach(Thread* thread);

  template <DecoratorSet decorators, typename BarrierSetT = ThirdPartyHeapBarrierSet>
  class AccessBarrier : public BarrierSet::AccessBarrier<decorators, BarrierSetT> {};
};

template<>
struct BarrierSet::GetName<ThirdPartyHeapBarrierSet> {
  static const BarrierSet::Name value = BarrierSet::ThirdPartyHeapBarrierSet;
};

template<>
struct BarrierSet::GetType<BarrierSet::ThirdPartyHeapBarrierSet> {
  typedef ::ThirdPartyHeapBarrierSet type;
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSET_HPP
