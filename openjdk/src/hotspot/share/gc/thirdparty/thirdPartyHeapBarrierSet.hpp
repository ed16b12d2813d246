/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSET_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSET_HPP

#include "gc/shared/barrierSet.hpp"
#include "gc/thirdparty/thirdPartyHeapSideBits.hpp"
#include "oops/arrayOop.hpp"

// What binds a mutator to each Java thread, and two barriers, of which a plan has one
// or none. Plans that stop the world and trace all of it have none anywhere.
//
// Object remembering, of generational plans. The plugin keeps one unlogged bit for each word of the heap. It sets the bit of each
// old object. A store of a reference into such an object hands the object to the plugin, which clears the bit, and scans the object
// in the next partial collection. C2's code leaves it in a buffer of the thread, and the bit set until that is emptied. The
// barrier may stand before or behind the store, because no safepoint comes between.
//
// Snapshot at the beginning, of plans that mark concurrently. What was reachable
// when marking began is marked (T. Yuasa, "Real-time garbage collection on
// general-purpose machines", 1990): while marking is active, the plugin is told of each
// reference before it is overwritten in the heap. A referent that is loaded from a weak
// place becomes strong without a store: it is told of too. So it is of what is in a
// handle outside the heap before a store, for class loader data is read concurrently
// where classes are unloaded. Stores to other roots need nothing, for those are read in
// the pause in which marking begins.
class ThirdPartyHeapBarrierSet : public BarrierSet {
  friend class VMStructs;

private:
  static address       _unlogged_bits;        // of address 0; NULL if the plan does not remember objects
  static bool          _has_snapshot_barrier;
  static volatile bool _snapshot_active;      // each Java thread has a copy for compiled code

  static void remember(oop object);
  static void remember_slots(void* first, size_t count);
  static void keep_alive_slow(oop object);
  static void keep_elements_alive(void* first, size_t count);

public:
  ThirdPartyHeapBarrierSet();

  virtual void print_on(outputStream* st) const {}

  virtual void on_thread_create(Thread* thread);
  virtual void on_thread_attach(Thread* thread);
  virtual void on_thread_detach(Thread* thread);
  // The calling thread is about to be detached. It has no lock yet.
  static void before_thread_detach(Thread* thread);
  virtual void on_slowpath_allocation_exit(JavaThread* thread, oop new_obj);

  // Set once, before any code is generated.
  static void set_unlogged_bits(address bits)  { _unlogged_bits = bits; }
  static address unlogged_bits()               { return _unlogged_bits; }
  static bool has_object_barrier()             { return _unlogged_bits != NULL; }
  static void set_has_snapshot_barrier()       { _has_snapshot_barrier = true; }
  static bool has_snapshot_barrier()           { return _has_snapshot_barrier; }
  static bool has_barrier()                    { return has_object_barrier() || has_snapshot_barrier(); }

  // Whether concurrent marking runs. Changes at a safepoint.
  static bool is_snapshot_active()             { return _snapshot_active; }
  static void set_snapshot_active(bool active);

  // The object was reachable when marking began, or is from now on. May be NULL.
  static void keep_alive(oop object) {
    if (is_snapshot_active()) {
      keep_alive_slow(object);
    }
  }

  static bool is_unlogged(oopDesc* object) {
    volatile u1* const byte = ThirdPartyHeapSideBits::byte_of(_unlogged_bits, object);
    return (*byte & ThirdPartyHeapSideBits::mask_of(object)) != 0;
  }

  // A reference has been, or will be before the next safepoint, stored into the object.
  static void object_written(oop object) {
    if (has_object_barrier()) {
      remember(object);
    }
  }

  // References in elements or fields in a row are about to be overwritten.
  static void elements_overwritten(void* first, size_t count) {
    if (is_snapshot_active()) {
      keep_elements_alive(first, count);
    }
  }

  // As object_written, of elements of an array of which the caller does not know more.
  static void slots_written(void* first, size_t count) {
    if (has_object_barrier()) {
      remember_slots(first, count);
    }
  }

  template <DecoratorSet decorators, typename BarrierSetT = ThirdPartyHeapBarrierSet>
  class AccessBarrier : public BarrierSet::AccessBarrier<decorators, BarrierSetT> {
    typedef BarrierSet::AccessBarrier<decorators, BarrierSetT> Base;

    // Whether the old value of what is written has to be kept.
    static const bool Overwrites = !HasDecorator<decorators, IS_DEST_UNINITIALIZED>::value &&
                                   !HasDecorator<decorators, AS_NO_KEEPALIVE>::value;

    static void field_overwritten(oop base, ptrdiff_t offset);
    template <typename T>
    static void overwritten(T* addr);
    static void loaded(DecoratorSet strength, oop value);

  public:
    static oop oop_load_in_heap_at(oop base, ptrdiff_t offset);
    template <typename T>
    static oop oop_load_in_heap(T* addr);
    template <typename T>
    static oop oop_load_not_in_heap(T* addr);
    template <typename T>
    static void oop_store_not_in_heap(T* addr, oop value);

    static void oop_store_in_heap_at(oop base, ptrdiff_t offset, oop value);
    static oop oop_atomic_cmpxchg_in_heap_at(oop base, ptrdiff_t offset, oop compare_value, oop new_value);
    static oop oop_atomic_xchg_in_heap_at(oop base, ptrdiff_t offset, oop new_value);

    template <typename T>
    static void oop_store_in_heap(T* addr, oop value);
    template <typename T>
    static oop oop_atomic_cmpxchg_in_heap(T* addr, oop compare_value, oop new_value);
    template <typename T>
    static oop oop_atomic_xchg_in_heap(T* addr, oop new_value);

    template <typename T>
    static bool oop_arraycopy_in_heap(arrayOop src_obj, size_t src_offset_in_bytes, T* src_raw,
                                      arrayOop dst_obj, size_t dst_offset_in_bytes, T* dst_raw,
                                      size_t length);

    // The object that is written is new: nothing is overwritten.
    static void clone_in_heap(oop src, oop dst, size_t size);
  };
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
