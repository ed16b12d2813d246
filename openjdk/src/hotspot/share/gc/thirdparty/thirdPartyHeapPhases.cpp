/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/shared/gcId.hpp"
#include "gc/shared/gcTimer.hpp"
#include "gc/thirdparty/thirdPartyHeap.hpp"
#include "gc/thirdparty/thirdPartyHeapDriver.hpp"
#include "gc/thirdparty/thirdPartyHeapPhases.hpp"
#include "logging/log.hpp"
#include "runtime/atomic.hpp"
#include "utilities/debug.hpp"
#include "utilities/globalDefinitions.hpp"

ThirdPartyHeapPhases* ThirdPartyHeapPhases::_current = NULL;

static const char* const RootsName = "Roots";

static bool is_logged() {
  return log_is_enabled(Debug, gc, phases);
}

static void log_phase(const char* name, uint64_t nanos) {
  log_debug(gc, phases)("%s %.3fms", name, nanos / (double)NANOSECS_PER_MILLISEC);
}

ThirdPartyHeapPhases::ThirdPartyHeapPhases(GCTimer* timer) : _timer(timer), _name(NULL), _start(), _root_nanos() {
  _current = this;
}

ThirdPartyHeapPhases::~ThirdPartyHeapPhases() {
  end_phase(Ticks::now());
  _current = NULL;
}

void ThirdPartyHeapPhases::end_phase(const Ticks& now) {
  if (_name == NULL) {
    return;
  }
  _timer->register_gc_phase_end(now);
  if (is_logged()) {
    log_phase(_name, (now - _start).nanoseconds());
    if (_name == RootsName) {
      log_roots();
    }
  }
  _name = NULL;
}

// Sums over all workers: together they may exceed the phase.
void ThirdPartyHeapPhases::log_roots() const {
  static const char* const names[] =
      { "  Class Loader Data", "  Code Cache", "  OopStorages", "  VM Thread", "  Threads" };
  STATIC_ASSERT(ARRAY_SIZE(names) == Kinds);
  for (int kind = 0; kind < Kinds; kind++) {
    log_phase(names[kind], Atomic::load(&_root_nanos[kind]));
  }
}

void ThirdPartyHeapPhases::begin(const char* name) {
  assert(_current != NULL, "only in a pause");
  const Ticks now = Ticks::now();
  _current->end_phase(now);
  _current->_timer->register_gc_phase_start(name, now);
  _current->_name = name;
  _current->_start = now;
}

void ThirdPartyHeapPhases::begin_plugin_phase(int32_t phase) {
  static const char* const names[] = {
    "Mark", "References: Soft", "References: Weak", "References: Final", "References: Phantom", "Forward", "Release"
  };
  STATIC_ASSERT(ARRAY_SIZE(names) == THIRD_PARTY_HEAP_PHASE_COUNT);
  // The lines of a worker have no number of their own.
  GCIdMark mark(ThirdPartyHeap::heap()->driver()->gc_id());
  begin(names[phase]);
}

void ThirdPartyHeapPhases::begin_roots() {
  begin(RootsName);
}

void ThirdPartyHeapPhases::log_stop(const Tickspan& time) {
  if (is_logged()) {
    log_phase("Stop", time.nanoseconds());
  }
}

ThirdPartyHeapPhases::RootsTimer::RootsTimer(int kind) : _kind(kind), _is_on(is_logged()), _start() {
  if (_is_on) {
    _start = Ticks::now();
  }
}

ThirdPartyHeapPhases::RootsTimer::~RootsTimer() {
  if (_is_on) {
    Atomic::add(&_current->_root_nanos[_kind], (jlong)(Ticks::now() - _start).nanoseconds());
  }
}
