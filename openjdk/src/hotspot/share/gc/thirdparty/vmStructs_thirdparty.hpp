/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_VMSTRUCTS_THIRDPARTY_HPP
#define SHARE_GC_THIRDPARTY_VMSTRUCTS_THIRDPARTY_HPP

#include "gc/thirdparty/thirdPartyHeap.hpp"

// The first two are listed for ThirdPartyHeapLayout, which reads offsets here, the others for the Serviceability Agent.
#define VM_STRUCTS_THIRDPARTYGC(unchecked_nonstatic_field) \
  unchecked_nonstatic_field(Klass, _id, sizeof(int)) /* NOTE: no type */ \
  unchecked_nonstatic_field(ClassLoaderData, _claim, sizeof(int)) /* NOTE: no type */ \
  unchecked_nonstatic_field(CollectedHeap, _capacity_at_last_gc, sizeof(size_t)) /* NOTE: no type */ \
  unchecked_nonstatic_field(CollectedHeap, _used_at_last_gc, sizeof(size_t)) /* NOTE: no type */

#define VM_TYPES_THIRDPARTYGC(declare_type) \
  declare_type(ThirdPartyHeap, CollectedHeap)

#endif // SHARE_GC_THIRDPARTY_VMSTRUCTS_THIRDPARTY_HPP
