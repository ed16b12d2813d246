/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSET_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSET_HPP

#include "gc/shared/barrierSet.hpp"
#include "oops/arrayOop.hpp"

// The object remembering barrier of generational plans, and what binds a mutator to
// each Java thread. Other plans stop the world and trace all of it: with them there is
// no barrier anywhere.
//
// The plugin keeps one unlogged bit for each word of the heap. It sets the bit of each
// old object. The first store of a reference into such an object clears the bit and
// hands the object to the plugin, which scans it in the next partial collection. The
// barrier may stand before or behind the store, because no safepoint comes between.
class ThirdPartyHeapBarrierSet : public BarrierSet {
  friend class VMStructs;

private:
  static address _unlogged_bits; // of address 0; NULL if the plan has no barrier

  static void remember(oop object);
  static void remember_elements(void* first, size_t count);

public:
  // log2 of the bytes of the heap that one bit, and one byte of bits, stand for.
  static const int BitShift  = 3;
  static const int ByteShift = 6;

  ThirdPartyHeapBarrierSet();

  virtual void print_on(outputStream* st) const {}

  virtual void on_thread_create(Thread* thread);
  virtual void on_thread_attach(Thread* thread);
  virtual void on_thread_detach(Thread* thread);
  virtual void on_slowpath_allocation_exit(JavaThread* thread, oop new_obj);

  // Set once, before any code is generated.
  static void set_unlogged_bits(address bits)  { _unlogged_bits = bits; }
  static address unlogged_bits()               { return _unlogged_bits; }
  static bool has_object_barrier()             { return _unlogged_bits != NULL; }

  static bool is_unlogged(oopDesc* object) {
    const uintptr_t at = (uintptr_t)object;
    const uint byte = *(volatile unsigned char*)(_unlogged_bits + (at >> ByteShift));
    return ((byte >> ((at >> BitShift) & 7)) & 1) != 0;
  }

  // A reference has been, or will be before the next safepoint, stored into the object.
  static void object_written(oop object) {
    if (has_object_barrier()) {
      remember(object);
    }
  }

  // The same of elements of an array of which the caller does not know more.
  static void elements_written(void* first, size_t count) {
    if (has_object_barrier()) {
      remember_elements(first, count);
    }
  }

  template <DecoratorSet decorators, typename BarrierSetT = ThirdPartyHeapBarrierSet>
  class AccessBarrier : public BarrierSet::AccessBarrier<decorators, BarrierSetT> {
    typedef BarrierSet::AccessBarrier<decorators, BarrierSetT> Base;

  public:
    static void oop_store_in_heap_at(oop base, ptrdiff_t offset, oop value) {
      Base::oop_store_in_heap_at(base, offset, value);
      object_written(base);
    }

    static oop oop_atomic_cmpxchg_in_heap_at(oop base, ptrdiff_t offset, oop compare_value, oop new_value) {
      const oop result = Base::oop_atomic_cmpxchg_in_heap_at(base, offset, compare_value, new_value);
      object_written(base);
      return result;
    }

    static oop oop_atomic_xchg_in_heap_at(oop base, ptrdiff_t offset, oop new_value) {
      const oop result = Base::oop_atomic_xchg_in_heap_at(base, offset, new_value);
      object_written(base);
      return result;
    }

    template <typename T>
    static void oop_store_in_heap(T* addr, oop value) {
      Base::oop_store_in_heap(addr, value);
      elements_written(addr, 1);
    }

    template <typename T>
    static oop oop_atomic_cmpxchg_in_heap(T* addr, oop compare_value, oop new_value) {
      const oop result = Base::oop_atomic_cmpxchg_in_heap(addr, compare_value, new_value);
      elements_written(addr, 1);
      return result;
    }

    template <typename T>
    static oop oop_atomic_xchg_in_heap(T* addr, oop new_value) {
      const oop result = Base::oop_atomic_xchg_in_heap(addr, new_value);
      elements_written(addr, 1);
      return result;
    }

    template <typename T>
    static bool oop_arraycopy_in_heap(arrayOop src_obj, size_t src_offset_in_bytes, T* src_raw,
                                      arrayOop dst_obj, size_t dst_offset_in_bytes, T* dst_raw,
                                      size_t length) {
      const bool complete = Base::oop_arraycopy_in_heap(src_obj, src_offset_in_bytes, src_raw,
                                                        dst_obj, dst_offset_in_bytes, dst_raw, length);
      if (dst_obj != NULL) {
        object_written(dst_obj);
      } else {
        elements_written(dst_raw, length);
      }
      return complete;
    }

    static void clone_in_heap(oop src, oop dst, size_t size) {
      Base::clone_in_heap(src, dst, size);
      object_written(dst);
    }
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
