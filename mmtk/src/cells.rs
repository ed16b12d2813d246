// SPDX-License-Identifier: MIT OR Apache-2.0
//! The free cells that our mark-sweep allocator keeps in each thread, which the VM takes without a call.

use crate::abi::{self, BinTable};
use crate::plans::PlanInfo;
use crate::{heap, OpenJDK};
use mmtk::shardsweep::{Build, Config, FreeListAllocator, Heads, BINS_BY_WORDS, CELL_BYTES_BY_BIN};
use mmtk::util::alloc::AllocatorSelector;
use mmtk::util::options::PlanSelector;
use mmtk::{memory_manager, AllocationSemantics, Mutator};

// The allocator's heads are what the VM makes room for in each thread.
const _: () = assert!(size_of::<Heads>() == size_of::<abi::Heads>());

/// Whether the allocator is that of a plan.
pub fn serves(plan: &PlanInfo) -> bool {
    matches!(
        plan.selector,
        PlanSelector::MarkSweep | PlanSelector::StickyMarkSweep | PlanSelector::ConcurrentMarkSweep
    )
}

/// Tells the allocator that a thread's heads stand `offset` bytes from its start. Called once, before any
/// mutator is bound. Returns how the VM finds the cell for an object, if the plan has cells.
pub fn connect(plan: &PlanInfo, offset: u32) -> Option<BinTable> {
    mmtk::shardsweep::set_heads_offset(offset as usize);
    serves(plan).then_some(BinTable {
        bins: BINS_BY_WORDS.as_ptr(),
        max_bytes: Build::BLOCK_BYTES as u64,
        cell_bytes: CELL_BYTES_BY_BIN.as_ptr(),
    })
}

/// Whether the calling thread's mutator is to have no cells at hand, so that the VM calls for each object.
pub fn hide<const COMPRESSED: bool>(mutator: &mut Mutator<OpenJDK<COMPRESSED>>, hide: bool) {
    if let Some(allocator) = allocator(mutator) {
        allocator.hide(hide);
    }
}

/// Abandons the blocks of the calling thread's mutator.
pub fn abandon<const COMPRESSED: bool>(mutator: &mut Mutator<OpenJDK<COMPRESSED>>) {
    if let Some(allocator) = allocator(mutator) {
        allocator.abandon();
    }
}

/// Our allocator, if it is that of the plan.
fn allocator<const COMPRESSED: bool>(
    mutator: &mut Mutator<OpenJDK<COMPRESSED>>,
) -> Option<&mut FreeListAllocator<OpenJDK<COMPRESSED>>> {
    let semantics = AllocationSemantics::Default;
    match memory_manager::get_allocator_mapping(heap::mmtk::<COMPRESSED>(), semantics) {
        // SAFETY: that is the type behind this selector.
        AllocatorSelector::FreeList(_) => {
            Some(unsafe { mutator.allocator_impl_mut_for_semantic(semantics) })
        }
        _ => None,
    }
}
