// SPDX-License-Identifier: MIT OR Apache-2.0
//! The free lists of our mark-sweep allocator, from which the VM allocates without a call.

use crate::abi::{BinTable, FreeLists};
use crate::plans::PlanInfo;
use mmtk::shardsweep::{Heads, MAX_OBJECT_SIZE, SMALL_BINS, SMALL_BYTES};
use mmtk::util::options::PlanSelector;

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
