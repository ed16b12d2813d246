// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocation of objects and of buffers in which HotSpot allocates inline.

use crate::layout::WORD;
use crate::plans::PlanInfo;
use crate::{heap, OpenJDK};
use mmtk::util::alloc::{AllocatorInfo, BumpPointer};
use mmtk::util::{Address, ObjectReference};
use mmtk::{memory_manager, AllocationSemantics, Mutator};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes up to which an object is allocated by the plan's default allocator; larger ones go to the
/// large object space.
static MAX_DEFAULT_BYTES: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The offset of the default allocator's [`BumpPointer`] in a mutator, or [`NO_TLAB`].
static BUMP_POINTER_OFFSET: AtomicUsize = AtomicUsize::new(NO_TLAB);
const NO_TLAB: usize = usize::MAX;

/// Whether a full heap may start a collection. Not before the VM can stop its threads, and never
/// under NoGC.
static MAY_COLLECT: AtomicBool = AtomicBool::new(false);

/// Sets how objects of this heap are allocated. Called once, when it has been made.
pub fn configure<const COMPRESSED: bool>(plan: &PlanInfo, is_stress_test: bool) {
    let limit = plan.constraints.max_non_los_default_alloc_bytes;
    MAX_DEFAULT_BYTES.store(limit, Ordering::Relaxed);
    // A stress test counts every object, which a buffer would hide.
    if plan.bump_allocation && !is_stress_test {
        let selector = memory_manager::get_allocator_mapping(
            heap::mmtk::<COMPRESSED>(),
            AllocationSemantics::Default,
        );
        let AllocatorInfo::BumpPointer {
            bump_pointer_offset,
        } = AllocatorInfo::new::<OpenJDK<COMPRESSED>>(selector)
        else {
            panic!("{selector:?} does not allocate by a bump pointer");
        };
        BUMP_POINTER_OFFSET.store(bump_pointer_offset, Ordering::Relaxed);
    }
}

/// From now on a full heap starts a collection.
pub fn enable_collection() {
    MAY_COLLECT.store(true, Ordering::Release);
}

/// Whether `bytes` more would exceed the heap while nothing can be collected. mmtk itself would
/// start a collection and fail.
#[cold]
fn is_over_limit<const COMPRESSED: bool>(bytes: usize) -> bool {
    let plan = heap::mmtk::<COMPRESSED>().get_plan();
    let free = plan
        .get_total_pages()
        .saturating_sub(plan.get_reserved_pages())
        * PAGE;
    // Threads get memory in blocks, and several may pass here at once.
    bytes > free.saturating_sub(SLACK)
}

const PAGE: usize = 4096;
const SLACK: usize = 64 * PAGE;

/// Memory for one object, not zeroed. None when out of memory.
#[inline(always)]
pub fn alloc<const COMPRESSED: bool>(
    mutator: &mut Mutator<OpenJDK<COMPRESSED>>,
    bytes: usize,
) -> Option<ObjectReference> {
    let semantics = if bytes <= MAX_DEFAULT_BYTES.load(Ordering::Relaxed) {
        AllocationSemantics::Default
    } else {
        AllocationSemantics::Los
    };
    if !MAY_COLLECT.load(Ordering::Acquire) && is_over_limit::<COMPRESSED>(bytes) {
        return None;
    }
    let address = memory_manager::alloc(mutator, bytes, WORD, 0, semantics);
    let object = ObjectReference::from_raw_address(address)?;
    memory_manager::post_alloc(mutator, object, bytes, semantics);
    Some(object)
}

/// A buffer of at least `min_bytes` for bump allocation: its start and its bytes. None if the plan
/// has none, the size does not fit in one, or memory is out.
///
/// The buffer is what the mutator would bump through itself, which is left with nothing, so that no
/// two allocate in it.
pub fn alloc_tlab<const COMPRESSED: bool>(
    mutator: &mut Mutator<OpenJDK<COMPRESSED>>,
    min_bytes: usize,
) -> Option<(Address, usize)> {
    let offset = BUMP_POINTER_OFFSET.load(Ordering::Relaxed);
    if offset == NO_TLAB || min_bytes > MAX_DEFAULT_BYTES.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: mmtk says that a mutator has a bump pointer at this offset.
    let bump_pointer: *mut BumpPointer = unsafe { ptr::from_mut(mutator).byte_add(offset).cast() };
    // SAFETY: as above; the mutator is ours until this function returns.
    let left = unsafe { *bump_pointer };
    let start = if left.limit - left.cursor >= min_bytes {
        left.cursor
    } else {
        alloc(mutator, min_bytes)?.to_raw_address()
    };
    // SAFETY: as above.
    let rest = unsafe { *bump_pointer };
    let end = start + min_bytes;
    // Immix serves medium-sized requests from a second bump pointer: then there is no rest.
    let end = if start == rest.cursor || end == rest.cursor {
        // SAFETY: as above.
        unsafe { (*bump_pointer).cursor = rest.limit };
        rest.limit
    } else {
        end
    };
    Some((start, end - start))
}
