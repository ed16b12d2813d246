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

static double millis(jlong nanos) {
  return nanos / (double)NANOSECS_PER_MILLISEC;
}

static void log_part(const char* name, jlong nanos) {
  log_info(gc, phases)("%s %.3fms", name, millis(nanos));
}

// A kind of what the part before it is about.
static void log_kind(const char* name, jlong nanos) {
  log_debug(gc, phases)("  %s %.3fms", name, millis(nanos));
}

ThirdPartyHeapPhases::ThirdPartyHeapPhases(GCTimer* timer) :
    _timer(timer), _name(NULL), _plugin_phase(NotOfPlugin), _start(), _root_nanos(), _reference_nanos() {
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
  const jlong nanos = (now - _start).nanoseconds();
  if (_plugin_phase >= THIRD_PARTY_HEAP_PHASE_SOFT_REFERENCES && _plugin_phase <= THIRD_PARTY_HEAP_PHASE_PHANTOM_REFERENCES) {
    _reference_nanos[_plugin_phase - THIRD_PARTY_HEAP_PHASE_SOFT_REFERENCES] = nanos;
  } else {
    log_part(_name, nanos);
  }
  if (_name == RootsName) {
    log_roots();
  } else if (_plugin_phase == THIRD_PARTY_HEAP_PHASE_PHANTOM_REFERENCES) {
    log_references();
  }
  _name = NULL;
}

// Sums over all workers: together they may exceed the phase.
void ThirdPartyHeapPhases::log_roots() const {
  static const char* const names[] = { "Class Loader Data", "Code Cache", "OopStorages", "VM Thread", "Threads" };
  STATIC_ASSERT(ARRAY_SIZE(names) == Kinds);
  for (int kind = 0; kind < Kinds; kind++) {
    log_kind(names[kind], Atomic::load(&_root_nanos[kind]));
  }
}

// For the flight recorder each kind is a phase. The log has one line for all, as for the roots.
void ThirdPartyHeapPhases::log_references() const {
  static const char* const names[] = { "Soft", "Weak", "Final", "Phantom" };
  STATIC_ASSERT(ARRAY_SIZE(names) == ReferenceKinds);
  jlong sum = 0;
  for (int kind = 0; kind < ReferenceKinds; kind++) {
    sum += _reference_nanos[kind];
  }
  log_part("References", sum);
  for (int kind = 0; kind < ReferenceKinds; kind++) {
    log_kind(names[kind], _reference_nanos[kind]);
  }
}

void ThirdPartyHeapPhases::begin(const char* name, int32_t plugin_phase) {
  assert(_current != NULL, "only in a pause");
  const Ticks now = Ticks::now();
  _current->end_phase(now);
  _current->_timer->register_gc_phase_start(name, now);
  _current->_name = name;
  _current->_plugin_phase = plugin_phase;
  _current->_start = now;
}

void ThirdPartyHeapPhases::begin_plugin_phase(int32_t phase) {
  static const char* const names[] = {
    "Mark", "References: Soft", "References: Weak", "References: Final", "References: Phantom", "Weak Roots", "Forward", "Release"
  };
  STATIC_ASSERT(ARRAY_SIZE(names) == THIRD_PARTY_HEAP_PHASE_COUNT);
  // The lines of a worker have no number of their own.
  GCIdMark mark(ThirdPartyHeap::heap()->driver()->gc_id());
  begin(names[phase], phase);
}

void ThirdPartyHeapPhases::begin_roots() {
  begin(RootsName);
}

void ThirdPartyHeapPhases::log_stop(const Tickspan& time) {
  log_part("Stop", time.nanoseconds());
}

ThirdPartyHeapPhases::RootsTimer::RootsTimer(int kind) : _kind(kind), _is_on(log_is_enabled(Debug, gc, phases)), _start() {
  if (_is_on) {
    _start = Ticks::now();
  }
}

ThirdPartyHeapPhases::RootsTimer::~RootsTimer() {
  if (_is_on) {
    Atomic::add(&_current->_root_nanos[_kind], (jlong)(Ticks::now() - _start).nanoseconds());
  }
}
