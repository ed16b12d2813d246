// SPDX-License-Identifier: MIT OR Apache-2.0
//! The free lists of our mark-sweep allocator, from which the VM allocates without a call.

use crate::abi::{BinTable, FreeLists};
use crate::plans::PlanInfo;
use crate::{heap, OpenJDK};
use mmtk::shardsweep::{FreeListAllocator, Heads, MAX_OBJECT_SIZE, SMALL_BINS, SMALL_BYTES};
use mmtk::util::alloc::AllocatorSelector;
use mmtk::util::options::PlanSelector;
use mmtk::{memory_manager, AllocationSemantics, Mutator};

// The allocator's lists are what the VM makes room for in each thread.
const _: () = assert!(size_of::<Heads>() == size_of::<FreeLists>());

/// Tells the allocator that a thread's lists stand `offset` bytes from its start. Called once, before any
/// mutator is bound. Returns how the VM finds the list for an object, if the plan has lists.
pub fn connect(plan: &PlanInfo, offset: u32) -> Option<BinTable> {
    mmtk::shardsweep::set_heads_offset(offset as usize);
    (plan.selector == PlanSelector::MarkSweep).then(|| BinTable {
        bins: SMALL_BINS.as_ptr(),
        max_bytes: SMALL_BYTES.min(MAX_OBJECT_SIZE) as u64,
    })
}

/// Whether the lists of the calling thread's mutator are to stay empty, so that the VM calls for each object.
pub fn hide<const COMPRESSED: bool>(mutator: &mut Mutator<OpenJDK<COMPRESSED>>, hide: bool) {
    let semantics = AllocationSemantics::Default;
    let selector = memory_manager::get_allocator_mapping(heap::mmtk::<COMPRESSED>(), semantics);
    if let AllocatorSelector::FreeList(_) = selector {
        // SAFETY: that is the type behind this selector.
        let allocator: &mut FreeListAllocator<OpenJDK<COMPRESSED>> =
            unsafe { mutator.allocator_impl_mut_for_semantic(semantics) };
        allocator.hide(hide);
    }
}
