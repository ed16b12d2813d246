/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPROOTS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPROOTS_HPP

#include "gc/thirdparty/thirdPartyHeapPlugin.h"
#include "memory/allStatic.hpp"
#include "memory/iterator.hpp"

// Collects slots and reports them to the plugin, up to Capacity at a time.
class ThirdPartyHeapSlotClosure : public BasicOopIterateClosure {
private:
  static const size_t Capacity = 512;

  const ThirdPartyHeapRootSink* const _sink;
  size_t                              _count;
  ThirdPartyHeapSlot                  _slots[Capacity];

  void push(ThirdPartyHeapSlot slot);
  void flush();

public:
  explicit ThirdPartyHeapSlotClosure(const ThirdPartyHeapRootSink* sink) : _sink(sink), _count(0) {}
  ~ThirdPartyHeapSlotClosure() { flush(); }

  virtual void do_oop(oop* p);
  virtual void do_oop(narrowOop* p);

  // References are plain fields here: the plugin does its own discovery.
  virtual ReferenceIterationMode reference_iteration_mode() { return DO_FIELDS; }
};

class ThirdPartyHeapRootClaims;

// All roots of the VM. Strong ones are reported as slots, weak ones processed in place.
class ThirdPartyHeapRoots : AllStatic {
  static bool _is_partial;
  static ThirdPartyHeapRootClaims* _claims; // of the scan that lasts

  static void scan_class_loader_data(OopClosure* closure);

public:
  // A partial collection is told of roots that may be young alone: of class loader data that were written to since the last
  // partial collection, and of nmethods with a young constant.
  static void begin_collection(bool partial);
  static void end_collection();
  // Before each scan: nothing is claimed, neither of strong roots nor of weak ones.
  static void begin_scan();

  // Reports the roots of one set (ThirdPartyHeapRootSet): each worker that calls it claims and reports parts.
  static void scan(int32_t root_set, const ThirdPartyHeapRootSink* sink);
  static void scan_thread(JavaThread* thread, const ThirdPartyHeapRootSink* sink);
  // In a final mark, what concurrent marking does not come to.
  static void scan_late(const ThirdPartyHeapRootSink* sink);

  // The roots of all sets, to a closure of the VM.
  static void oops_do(OopClosure* closure);

  // On the VM thread, before process_weak: JVMTI's tag maps are its business.
  static void announce_tag_maps();
  // How many workers, of at most so many, the weak roots are worth.
  static uint32_t weak_workers(uint32_t max_workers);
  // The weak roots that the calling worker claims. When all workers are done, one of them ends it.
  static void process_weak();
  static void end_weak();
  // On the VM thread, if classes are held weakly.
  static void unload_classes();
  // Those that the calling worker claims, after objects have moved.
  static void forward_weak();

  // Compiled code repeats the oops of its oop table as immediates: patches them after objects have moved, or young ones alone.
  static void fix_compiled_code(bool only_young);
};

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPROOTS_HPP
