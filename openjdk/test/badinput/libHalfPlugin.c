/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdint.h>
#include "../../src/hotspot/share/gc/thirdparty/thirdPartyHeapPlugin.h"

/* The right ABI version, but no entry. */
const uint32_t third_party_heap_abi_version = THIRD_PARTY_HEAP_ABI_VERSION;
