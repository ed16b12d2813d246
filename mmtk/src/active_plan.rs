// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads and their mutators. HotSpot keeps the pointer to a thread's mutator in the thread.

use crate::{abi, upcalls, OpenJDK};
use mmtk::util::{VMMutatorThread, VMThread};
use mmtk::vm::ActivePlan;
use mmtk::Mutator;
use std::sync::atomic::{AtomicUsize, Ordering};

static MUTATOR_OFFSET: AtomicUsize = AtomicUsize::new(0);

/// Sets the offset, in bytes, of the mutator pointer in a thread. Called once, before any mutator.
pub fn set_mutator_offset(offset: u32) {
    MUTATOR_OFFSET.store(offset as usize, Ordering::Relaxed);
}

/// How many mutators are bound to threads.
static BOUND: AtomicUsize = AtomicUsize::new(0);

/// Counts a mutator that is being bound to a thread.
pub fn count_bound() {
    BOUND.fetch_add(1, Ordering::Relaxed);
}

/// Counts one that has been destroyed.
pub fn count_destroyed() {
    BOUND.fetch_sub(1, Ordering::Relaxed);
}

/// How many mutators are bound to threads. The VM binds and destroys them under the lock of its list of threads, so that in a pause
/// this is the number of those in the list. mmtk asks once for each of them.
pub fn bound() -> usize {
    BOUND.load(Ordering::Relaxed)
}

/// The mutator of a thread, null if it has none.
#[inline(always)]
fn raw_mutator(thread: VMThread) -> abi::Mutator {
    let field = thread.0.to_address() + MUTATOR_OFFSET.load(Ordering::Relaxed);
    // SAFETY: the VM told where a thread keeps its mutator.
    unsafe { field.load::<abi::Mutator>() }
}

/// The mutator behind a pointer that the VM holds.
///
/// # Safety
/// `raw` must come from `bind_mutator` and not be destroyed, and no other reference to it may be in use, but for those that mmtk's
/// packets of one pause have: some of these use its allocators, the others its barrier.
#[inline(always)]
pub unsafe fn mutator_ref<const COMPRESSED: bool>(
    raw: abi::Mutator,
) -> &'static mut Mutator<OpenJDK<COMPRESSED>> {
    // SAFETY: promised by the caller.
    unsafe { &mut *raw.cast() }
}

/// HotSpot's threads.
pub struct Threads;

impl<const COMPRESSED: bool> ActivePlan<OpenJDK<COMPRESSED>> for Threads {
    #[inline(always)]
    fn is_mutator(thread: VMThread) -> bool {
        !raw_mutator(thread).is_null()
    }

    #[inline(always)]
    fn mutator(thread: VMMutatorThread) -> &'static mut Mutator<OpenJDK<COMPRESSED>> {
        // SAFETY: mmtk asks for threads that have a mutator.
        unsafe { mutator_ref(raw_mutator(thread.0)) }
    }

    fn mutators<'a>() -> Box<dyn Iterator<Item = &'a mut Mutator<OpenJDK<COMPRESSED>>> + 'a> {
        // SAFETY: mmtk asks while mutators are stopped, and the list has each of them once.
        Box::new(
            upcalls::mutators()
                .into_iter()
                .map(|raw| unsafe { mutator_ref(raw) }),
        )
    }

    fn number_of_mutators() -> usize {
        bound()
    }
}
