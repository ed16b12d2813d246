/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPCOUNTERS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPCOUNTERS_HPP

#include "gc/shared/collectorCounters.hpp"
#include "gc/shared/generationCounters.hpp"
#include "runtime/perfData.hpp"

class ThirdPartyHeap;

// The performance data that jstat reads: the whole heap as the only space of the
// old generation, and a collector of full collections. Capacity and use are sampled
// while the program runs.
class ThirdPartyHeapCounters : public GenerationCounters {
private:
  class Sampler : public PerfLongSampleHelper {
  private:
    ThirdPartyHeap* const _heap;
    size_t (ThirdPartyHeap::* const _size)() const;

  public:
    Sampler(ThirdPartyHeap* heap, size_t (ThirdPartyHeap::*size)() const) : _heap(heap), _size(size) {}

    virtual jlong take_sample() { return (_heap->*_size)(); }
  };

  ThirdPartyHeap* const _heap;
  CollectorCounters     _collector;
  PerfVariable*         _used;
  PerfVariable*         _capacity;

  void create_space();

public:
  ThirdPartyHeapCounters(ThirdPartyHeap* heap);

  CollectorCounters* collector() { return &_collector; }

  // At the end of a collection.
  virtual void update_all();
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPCOUNTERS_HPP
