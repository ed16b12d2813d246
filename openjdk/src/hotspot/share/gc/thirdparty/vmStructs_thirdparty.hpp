/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_VMSTRUCTS_THIRDPARTY_HPP
#define SHARE_GC_THIRDPARTY_VMSTRUCTS_THIRDPARTY_HPP

#include "gc/thirdparty/thirdPartyHeap.hpp"

// These are listed for ThirdPartyHeapLayout, which reads field offsets from this table.
#define VM_STRUCTS_THIRDPARTYGC(unchecked_nonstatic_field) \
  unchecked_nonstatic_field(Klass, _id, sizeof(int)) /* NOTE: no type */ \
  unchecked_nonstatic_field(ClassLoaderData, _claim, sizeof(int)) /* NOTE: no type */

#define VM_TYPES_THIRDPARTYGC(declare_type) \
  declare_type(ThirdPartyHeap, CollectedHeap)

#endif // SHARE_GC_THIRDPARTY_VMSTRUCTS_THIRDPARTY_HPP
