/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPPHASES_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPPHASES_HPP

#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "memory/allocation.hpp"
#include "utilities/ticks.hpp"

class GCTimer;

// The parts of a pause, for the log (gc+phases; kinds of roots and references at the level debug) and the flight recorder. Each begins where the one before it ends,
// so that their sum is the pause's. Threads that take part in a collection may begin one, but no two at the same time.
class ThirdPartyHeapPhases : public StackObj {
private:
  // The kinds of roots: the root sets, and the stacks of Java threads.
  static const int Threads = THIRD_PARTY_HEAP_ROOTS_COUNT;
  static const int Kinds = Threads + 1;
  static const int ReferenceKinds =
      THIRD_PARTY_HEAP_PHASE_PHANTOM_REFERENCES - THIRD_PARTY_HEAP_PHASE_SOFT_REFERENCES + 1;
  static const int32_t NotOfPlugin = -1;

  static ThirdPartyHeapPhases* _current; // of the pause that lasts

  GCTimer* const _timer;
  const char*    _name;         // of the phase that lasts, or NULL
  int32_t        _plugin_phase; // which of the plugin's that is, or NotOfPlugin
  Ticks          _start;
  volatile jlong _root_nanos[Kinds]; // of all workers together
  jlong          _reference_nanos[ReferenceKinds];

  void end_phase(const Ticks& now);
  void log_roots() const;
  void log_references() const;

public:
  // On the VM thread.
  ThirdPartyHeapPhases(GCTimer* timer);
  ~ThirdPartyHeapPhases();

  // Ends the phase that lasts, and begins another. The name stays valid for ever.
  static void begin(const char* name, int32_t plugin_phase = NotOfPlugin);
  // The same for the plugin.
  static void begin_plugin_phase(int32_t phase);
  // Begins the phase in which many workers scan roots at once: each kind has a timer of its own.
  static void begin_roots();

  // What lies in front of the pause: the time until all Java threads stand still.
  static void log_stop(const Tickspan& time);

  // Adds the time from here to the end of its scope to that of a kind of roots, if the log asks for it.
  class RootsTimer : public StackObj {
  private:
    const int  _kind;
    const bool _is_on;
    Ticks      _start;

  public:
    explicit RootsTimer(int kind = Threads);
    ~RootsTimer();
  };
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPPHASES_HPP
