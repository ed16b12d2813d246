/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSET_INLINE_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSET_INLINE_HPP

#include "gc/thirdparty/thirdPartyHeapBarrierSet.hpp"

#include "gc/shared/accessBarrierSupport.inline.hpp"
#include "oops/access.inline.hpp"
#include "oops/arrayOop.hpp"
#include "oops/oop.hpp"

template <DecoratorSet decorators, typename BarrierSetT>
inline void ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
field_overwritten(oop base, ptrdiff_t offset) {
  if (Overwrites && is_snapshot_active()) {
    overwritten(AccessInternal::oop_field_addr<decorators>(base, offset));
  }
}

template <DecoratorSet decorators, typename BarrierSetT>
template <typename T>
inline void ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
overwritten(T* addr) {
  if (Overwrites) {
    elements_overwritten((void*)addr, 1);
  }
}

template <DecoratorSet decorators, typename BarrierSetT>
inline void ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
loaded(DecoratorSet strength, oop value) {
  if ((strength & (ON_STRONG_OOP_REF | AS_NO_KEEPALIVE)) == 0) {
    keep_alive(value);
  }
}

template <DecoratorSet decorators, typename BarrierSetT>
inline oop ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
oop_load_in_heap_at(oop base, ptrdiff_t offset) {
  const oop value = Base::oop_load_in_heap_at(base, offset);
  if (!HasDecorator<decorators, ON_STRONG_OOP_REF>::value && is_snapshot_active()) {
    loaded(AccessBarrierSupport::resolve_possibly_unknown_oop_ref_strength<decorators>(base, offset), value);
  }
  return value;
}

template <DecoratorSet decorators, typename BarrierSetT>
template <typename T>
inline oop ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
oop_load_in_heap(T* addr) {
  const oop value = Base::template oop_load_in_heap<T>(addr);
  loaded(decorators, value);
  return value;
}

template <DecoratorSet decorators, typename BarrierSetT>
template <typename T>
inline oop ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
oop_load_not_in_heap(T* addr) {
  const oop value = Base::template oop_load_not_in_heap<T>(addr);
  loaded(decorators, value);
  return value;
}

// Handles of class loader data are read concurrently where classes are unloaded. Redefinition clears those of old constants.
template <DecoratorSet decorators, typename BarrierSetT>
template <typename T>
inline void ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
oop_store_not_in_heap(T* addr, oop value) {
  if (Overwrites && is_snapshot_active()) {
    keep_alive(RawAccess<>::oop_load(addr));
  }
  Base::oop_store_not_in_heap(addr, value);
}

template <DecoratorSet decorators, typename BarrierSetT>
inline void ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
oop_store_in_heap_at(oop base, ptrdiff_t offset, oop value) {
  field_overwritten(base, offset);
  Base::oop_store_in_heap_at(base, offset, value);
  object_written(base);
}

template <DecoratorSet decorators, typename BarrierSetT>
inline oop ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
oop_atomic_cmpxchg_in_heap_at(oop base, ptrdiff_t offset, oop compare_value, oop new_value) {
  field_overwritten(base, offset);
  const oop result = Base::oop_atomic_cmpxchg_in_heap_at(base, offset, compare_value, new_value);
  object_written(base);
  return result;
}

template <DecoratorSet decorators, typename BarrierSetT>
inline oop ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
oop_atomic_xchg_in_heap_at(oop base, ptrdiff_t offset, oop new_value) {
  field_overwritten(base, offset);
  const oop result = Base::oop_atomic_xchg_in_heap_at(base, offset, new_value);
  object_written(base);
  return result;
}

template <DecoratorSet decorators, typename BarrierSetT>
template <typename T>
inline void ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
oop_store_in_heap(T* addr, oop value) {
  overwritten(addr);
  Base::oop_store_in_heap(addr, value);
  slots_written(addr, 1);
}

template <DecoratorSet decorators, typename BarrierSetT>
template <typename T>
inline oop ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
oop_atomic_cmpxchg_in_heap(T* addr, oop compare_value, oop new_value) {
  overwritten(addr);
  const oop result = Base::oop_atomic_cmpxchg_in_heap(addr, compare_value, new_value);
  slots_written(addr, 1);
  return result;
}

template <DecoratorSet decorators, typename BarrierSetT>
template <typename T>
inline oop ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
oop_atomic_xchg_in_heap(T* addr, oop new_value) {
  overwritten(addr);
  const oop result = Base::oop_atomic_xchg_in_heap(addr, new_value);
  slots_written(addr, 1);
  return result;
}

template <DecoratorSet decorators, typename BarrierSetT>
template <typename T>
inline bool ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
oop_arraycopy_in_heap(arrayOop src_obj, size_t src_offset_in_bytes, T* src_raw,
                      arrayOop dst_obj, size_t dst_offset_in_bytes, T* dst_raw,
                      size_t length) {
  if (Overwrites) {
    elements_overwritten(arrayOopDesc::obj_offset_to_raw(dst_obj, dst_offset_in_bytes, dst_raw), length);
  }
  const bool complete = Base::oop_arraycopy_in_heap(src_obj, src_offset_in_bytes, src_raw,
                                                    dst_obj, dst_offset_in_bytes, dst_raw, length);
  if (dst_obj != NULL) {
    object_written(dst_obj);
  } else {
    slots_written(dst_raw, length);
  }
  return complete;
}

template <DecoratorSet decorators, typename BarrierSetT>
inline void ThirdPartyHeapBarrierSet::AccessBarrier<decorators, BarrierSetT>::
clone_in_heap(oop src, oop dst, size_t size) {
  Base::clone_in_heap(src, dst, size);
  object_written(dst);
}

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSET_INLINE_HPP
