// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocation of objects and of buffers in which HotSpot allocates inline.

use crate::layout::WORD;
use crate::plans::PlanInfo;
use crate::trigger::{self, PAGE};
use crate::{heap, OpenJDK};
use mmtk::util::alloc::{
    AllocationOptions, AllocatorInfo, AllocatorSelector, BumpPointer, MarkCompactAllocator,
};
use mmtk::util::metadata::side_metadata;
use mmtk::util::options::PlanSelector;
use mmtk::util::{Address, ObjectReference};
use mmtk::{memory_manager, AllocationSemantics, Mutator};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes up to which an object is allocated by the plan's default allocator; larger ones go to the
/// large object space.
static MAX_DEFAULT_BYTES: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The offset of the default allocator's [`BumpPointer`] in a mutator, or [`NO_BUFFERS`].
static BUMP_POINTER_OFFSET: AtomicUsize = AtomicUsize::new(NO_BUFFERS);
const NO_BUFFERS: usize = usize::MAX;

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

/// Bytes that the plan's allocator keeps for itself before each object.
pub fn extra_header_bytes(plan: &PlanInfo) -> u32 {
    match plan.selector {
        // The same with narrow slots.
        PlanSelector::MarkCompact => {
            MarkCompactAllocator::<OpenJDK<false>>::HEADER_RESERVED_IN_BYTES as u32
        }
        _ => 0,
    }
}

/// Where the valid-object bits would begin for address 0. Mark-compact finds objects by them; other
/// plans have none.
pub fn valid_object_bits<const COMPRESSED: bool>() -> Address {
    if *heap::mmtk::<COMPRESSED>().get_options().plan == PlanSelector::MarkCompact {
        side_metadata::vo_bit_side_metadata_addr()
    } else {
        Address::ZERO
    }
}

/// From now on a full heap starts a collection.
pub fn enable_collection() {
    MAY_COLLECT.store(true, Ordering::Release);
}

/// See [`enable_collection`].
#[inline(always)]
pub fn may_collect() -> bool {
    MAY_COLLECT.load(Ordering::Acquire)
}

/// Left free when nothing can be collected: threads get memory in blocks, and several may ask at
/// once.
const SLACK_PAGES: usize = 64;

/// Whether `bytes` more would exceed `-Xmx` while nothing can be collected.
fn is_over_limit<const COMPRESSED: bool>(bytes: usize) -> bool {
    let reserved = heap::mmtk::<COMPRESSED>().get_plan().get_reserved_pages();
    let free = trigger::max_pages().saturating_sub(reserved + SLACK_PAGES);
    bytes.div_ceil(PAGE) > free
}

/// Which of the plan's allocators serves objects of this size.
#[inline(always)]
fn semantics(bytes: usize) -> AllocationSemantics {
    if bytes <= MAX_DEFAULT_BYTES.load(Ordering::Relaxed) {
        AllocationSemantics::Default
    } else {
        AllocationSemantics::Los
    }
}

/// Memory for one object, not zeroed. None when out of memory.
#[inline(always)]
pub fn alloc<const COMPRESSED: bool>(
    mutator: &mut Mutator<OpenJDK<COMPRESSED>>,
    bytes: usize,
) -> Option<ObjectReference> {
    if !may_collect() {
        return alloc_without_collection(mutator, bytes);
    }
    let semantics = semantics(bytes);
    let address = memory_manager::alloc(mutator, bytes, WORD, 0, semantics);
    let object = ObjectReference::from_raw_address(address)?;
    memory_manager::post_alloc(mutator, object, bytes, semantics);
    Some(object)
}

/// As [`alloc`], but the calling thread never waits for a collection: the heap grows, up to `-Xmx`.
#[cold]
pub fn alloc_without_collection<const COMPRESSED: bool>(
    mutator: &mut Mutator<OpenJDK<COMPRESSED>>,
    bytes: usize,
) -> Option<ObjectReference> {
    if is_over_limit::<COMPRESSED>(bytes) {
        return None;
    }
    let semantics = semantics(bytes);
    let options = AllocationOptions {
        allow_overcommit: true,
        at_safepoint: false,
        allow_oom_call: false,
    };
    let address = memory_manager::alloc_with_options(mutator, bytes, WORD, 0, semantics, options);
    let object = ObjectReference::from_raw_address(address)?;
    memory_manager::post_alloc(mutator, object, bytes, semantics);
    Some(object)
}

/// Bytes of a buffer for the VM at `start`, the end of the object that the mutator has allocated last:
/// what it would bump through itself. 0 if it would not allocate there, because nothing is left or the
/// object was none for its bump pointer. The next object that the buffer has no room for is allocated
/// by [`alloc`], which gets new memory for the mutator, and what that leaves is the next buffer. So a
/// plan's own allocator chooses where objects go, Immix's among them, which fills small holes.
///
/// The mutator is left with nothing there, so that no two allocate in a buffer. It holds no object that
/// belongs in the large object space. Its memory is zero if objects have extra headers.
pub fn take_buffer<const COMPRESSED: bool>(
    mutator: &mut Mutator<OpenJDK<COMPRESSED>>,
    start: Address,
) -> usize {
    let offset = BUMP_POINTER_OFFSET.load(Ordering::Relaxed);
    if offset == NO_BUFFERS {
        return 0;
    }
    // SAFETY: mmtk says that a mutator has a bump pointer at this offset, and only the thread of
    // the mutator uses it.
    let bump_pointer = unsafe {
        &mut *ptr::from_mut(mutator)
            .byte_add(offset)
            .cast::<BumpPointer>()
    };
    if bump_pointer.cursor != start {
        return 0;
    }
    let bytes = (bump_pointer.limit - start).min(MAX_DEFAULT_BYTES.load(Ordering::Relaxed));
    bump_pointer.cursor += bytes;
    bytes
}

/// All that a plan may have allocators for.
const SEMANTICS: [AllocationSemantics; 7] = [
    AllocationSemantics::Default,
    AllocationSemantics::Immortal,
    AllocationSemantics::Los,
    AllocationSemantics::Code,
    AllocationSemantics::ReadOnly,
    AllocationSemantics::LargeCode,
    AllocationSemantics::NonMoving,
];

/// Drops the allocators of a mutator that has been destroyed, and is to be dropped next: mmtk does not drop what a mutator has of them.
pub fn drop_allocators<const COMPRESSED: bool>(mutator: &mut Mutator<OpenJDK<COMPRESSED>>) {
    let mmtk = heap::mmtk::<COMPRESSED>();
    let mut selectors =
        SEMANTICS.map(|semantics| memory_manager::get_allocator_mapping(mmtk, semantics));
    // Several semantics may have one allocator.
    selectors.sort_unstable();
    for same in selectors.chunk_by(|first, second| first == second) {
        if same[0] != AllocatorSelector::None {
            // SAFETY: the plan has named the allocator, each is dropped once, and nothing uses it any more.
            unsafe { ptr::drop_in_place(mutator.allocator_mut(same[0])) };
        }
    }
}
