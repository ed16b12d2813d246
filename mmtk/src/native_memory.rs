// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native memory tracking: the VM learns of each range that mmtk maps, and whether objects lie in it; and ends when the system has none.

use crate::upcalls;
use mmtk::util::os::{MmapAnnotation, ON_MAP, ON_REFUSAL};
use mmtk::util::Address;

/// From now on the VM is told. Called before the heap is made.
pub fn track() {
    ON_MAP.get_or_init(|| report);
    ON_REFUSAL.get_or_init(|| end);
}

/// mmtk has no way on from a refusal, wherever it is met.
fn end(bytes: usize, annotation: &MmapAnnotation) -> ! {
    upcalls::out_of_os_memory(&annotation.to_string(), bytes)
}

/// Metadata of spaces (mark bits, for one) and the maps of the address space are no part of the heap.
fn report(start: Address, bytes: usize, annotation: &MmapAnnotation) {
    let is_heap = matches!(annotation, MmapAnnotation::Space { .. });
    upcalls::memory_mapped(start, bytes, is_heap);
}
