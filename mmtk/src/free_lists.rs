// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocation from the free lists of our mark-sweep allocator, past mmtk's dispatch.

use crate::plans::PlanInfo;
use crate::{heap, OpenJDK};
use mmtk::shardsweep::{Build, Config, FreeListAllocator, Heads};
use mmtk::util::options::PlanSelector;
use mmtk::util::{Address, ObjectReference};
use mmtk::{memory_manager, AllocationSemantics, Mutator};
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The offset of the free lists' [`Heads`] in a mutator, or [`NO_LISTS`].
static HEADS_OFFSET: AtomicUsize = AtomicUsize::new(NO_LISTS);
const NO_LISTS: usize = usize::MAX;

/// Finds out whether this heap has free lists. Called once, when it has been made.
pub fn configure<const COMPRESSED: bool>(plan: &PlanInfo) {
    if plan.selector != PlanSelector::MarkSweep {
        return;
    }
    let selector = memory_manager::get_allocator_mapping(
        heap::mmtk::<COMPRESSED>(),
        AllocationSemantics::Default,
    );
    let offset = Mutator::<OpenJDK<COMPRESSED>>::get_allocator_base_offset(selector)
        + offset_of!(FreeListAllocator<OpenJDK<COMPRESSED>>, heads);
    HEADS_OFFSET.store(offset, Ordering::Relaxed);
}

/// A free cell for an object of `bytes`, if a list has one at hand.
#[inline(always)]
pub fn pop<const COMPRESSED: bool>(
    mutator: &mut Mutator<OpenJDK<COMPRESSED>>,
    bytes: usize,
) -> Option<ObjectReference> {
    let offset = HEADS_OFFSET.load(Ordering::Relaxed);
    if offset == NO_LISTS {
        return None;
    }
    let bin = Build::bin(bytes, crate::layout::WORD)?;
    // SAFETY: mutators of this plan have the heads of their lists at this offset, and this one is ours
    // until the function returns.
    let heads: &mut Heads = unsafe { &mut *ptr::from_mut(mutator).byte_add(offset).cast() };
    let cell = heads.pop(bin)?;
    // SAFETY: a free cell has an address.
    ObjectReference::from_raw_address(unsafe { Address::from_usize(cell.get()) })
}
