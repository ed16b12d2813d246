/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPOVERHEADLIMIT_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPOVERHEADLIMIT_HPP

#include "memory/allocation.hpp"
#include "runtime/atomic.hpp"
#include "utilities/ticks.hpp"

// Ends the death throes of a heap that is full but for a few bytes, where each
// collection frees just enough for the next allocation: after some collections in
// a row that left the heap full and took GCTimeLimit percent of the time, and between
// which the program used less than GCHeapFreeLimit percent of the heap, an allocation
// fails. It is the rule of ParallelGC (gcOverheadChecker.cpp) without its averages.
class ThirdPartyHeapOverheadLimit {
public:
  // What is known when a collection starts.
  class Start {
    friend class ThirdPartyHeapOverheadLimit;

  private:
    const Ticks  _time;
    const size_t _used;

  public:
    explicit Start(size_t used) : _time(Ticks::now()), _used(used) {}
  };

private:
  static const uint Threshold = 5;

  Ticks         _last_end;
  Tickspan      _others;     // what pauses have taken since then that are not full ones
  size_t        _used_after_last;
  uint          _futile;     // collections in a row
  volatile bool _exceeded;   // and no allocation has failed since
  volatile int  _last_attempts;

  bool is_futile(const Start& start, const Ticks& end, bool is_full) const;

public:
  ThirdPartyHeapOverheadLimit() : _used_after_last(0), _futile(0), _exceeded(false), _last_attempts(0) {}

  // At the end of another pause than a full one.
  void record_other(const Start& start) { _others += Ticks::now() - start._time; }
  // At the end of a full pause. True: the next one is to clear all soft references, as it is the last before the limit.
  bool record(const Start& start, bool is_full, size_t used_after);

  // True for one allocation each time that the limit has been exceeded.
  bool fail_allocation();
  // An allocation has failed by itself, or a collection has made room.
  void reset() {
    _futile = 0;
    _exceeded = false;
  }

  // While a request makes its last attempts, one collection follows the other: they say nothing of what the program does.
  class LastAttempts : public StackObj {
    ThirdPartyHeapOverheadLimit* const _limit;

  public:
    explicit LastAttempts(ThirdPartyHeapOverheadLimit* limit) : _limit(limit) { Atomic::inc(&_limit->_last_attempts); }
    ~LastAttempts() { Atomic::dec(&_limit->_last_attempts); }
  };
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPOVERHEADLIMIT_HPP
