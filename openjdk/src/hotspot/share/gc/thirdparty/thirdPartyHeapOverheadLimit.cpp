/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/shared/gc_globals.hpp"
#include "gc/thirdparty/thirdPartyHeapOverheadLimit.hpp"
#include "logging/log.hpp"

bool ThirdPartyHeapOverheadLimit::is_futile(const Start& start, const Ticks& end, bool is_full) const {
  const double pauses = (end - start._time).seconds() + _others.seconds();
  const double since_last = (end - _last_end).seconds();
  const size_t growth = start._used > _used_after_last ? start._used - _used_after_last : 0;
  return is_full &&
         pauses > since_last * (GCTimeLimit / 100.0) &&
         growth < MaxHeapSize / 100 * GCHeapFreeLimit;
}

bool ThirdPartyHeapOverheadLimit::record(const Start& start, bool is_full, size_t used_after) {
  const Ticks end = Ticks::now();
  if (!UseGCOverheadLimit || !is_futile(start, end, is_full)) {
    _futile = 0;
  } else if (_last_attempts == 0) {
    _futile++;
  }
  _last_end = end;
  _others = Tickspan();
  _used_after_last = used_after;
  if (_futile == 0) {
    _exceeded = false;
  } else if (_futile == Threshold) {
    log_info(gc)("GC overhead limit exceeded: %u collections in a row took more than " UINTX_FORMAT "%% of the time",
                 Threshold, GCTimeLimit);
    _futile = 0;
    _exceeded = true;
  }
  return _futile == Threshold - 1;
}

bool ThirdPartyHeapOverheadLimit::fail_allocation() {
  return _exceeded && Atomic::cmpxchg(&_exceeded, true, false);
}
