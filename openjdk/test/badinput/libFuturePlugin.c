/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

/* A plugin of another ABI: its entry must never be called. */
const uint32_t third_party_heap_abi_version = 999999;

const void* third_party_heap_entry(const void* vm, char* error, size_t size) {
  abort();
}
