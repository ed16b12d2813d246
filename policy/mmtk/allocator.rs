// SPDX-License-Identifier: MIT OR Apache-2.0
//! A mutator's side of the space: cells from the heads in the VM's thread, large objects by runs.

use super::space::MarkSweepSpace;
use super::{address, Build, Config};
use crate::policy::space::Space;
use crate::util::alloc::allocator::AllocatorContext;
use crate::util::alloc::Allocator;
use crate::util::{Address, VMThread};
use crate::vm::VMBinding;
use shardsweep_policy::{Bin, Heads, Local, Refill, Thread, PAGE_BYTES};
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// Collections that a thread waits for before it gives up because the last has left too little for what it asks for. In a heap that is nearly full, more
/// than one passes until a thread gets what others have not taken.
const MOST_IN_VAIN: usize = 8;

/// A thread tells of the cells on pages that were charged before the last collection when it has been handed out so many bytes.
const TOLD_BYTES: usize = 1 << 16;

/// Bytes from the start of a VM thread to its [`Heads`].
static HEADS_OFFSET: AtomicUsize = AtomicUsize::new(0);

/// Sets where a thread of the VM keeps the heads of its free lists, in bytes from its start. The VM makes
/// them zero, keeps them as long as the thread has a mutator, and may pop from them. Called once, before
/// the first mutator is bound.
pub fn set_heads_offset(offset: usize) {
    HEADS_OFFSET.store(offset, Ordering::Relaxed);
}

/// Allocates cells from heads that stand in the VM's thread, and large objects.
pub struct FreeListAllocator<VM: VMBinding> {
    /// The thread's, or `hidden`.
    heads: NonNull<Heads>,
    local: Local,
    /// The lists that are used in place of the thread's, which then stay empty so that every allocation comes
    /// here: in a precise stress test, and while the VM asks for it.
    hidden: Option<Box<Heads>>,
    /// In a precise stress test every allocation takes the slow path.
    is_precise_stress: bool,
    tls: VMThread,
    space: &'static MarkSweepSpace<VM>,
    context: Arc<AllocatorContext<VM>>,
    /// Collections that were run for the present request because there was no address space.
    for_addresses: usize,
    /// Collections that were run for the present request because the heap was full.
    in_vain: usize,
}

// SAFETY: the lists go with the mutator: while its thread runs, that thread alone uses them; while it is
// stopped, the worker that has the mutator does.
unsafe impl<VM: VMBinding> Send for FreeListAllocator<VM> {}

impl<VM: VMBinding> FreeListAllocator<VM> {
    pub(crate) fn new(
        tls: VMThread,
        space: &'static MarkSweepSpace<VM>,
        context: Arc<AllocatorContext<VM>>,
    ) -> Self {
        let options = &context.options;
        // A mutator without a thread is for barriers alone: it has no lists to hide, and takes no part of the heap.
        let has_thread = tls != VMThread::UNINITIALIZED;
        let is_precise_stress =
            has_thread && *options.precise_stress && options.is_stress_test_gc_enabled();
        let mut allocator = FreeListAllocator {
            heads: Self::heads_in_thread(tls),
            local: Local::default(),
            hidden: None,
            is_precise_stress,
            tls,
            space,
            context,
            for_addresses: 0,
            in_vain: 0,
        };
        if has_thread {
            space.add_thread();
        }
        allocator.hide(is_precise_stress);
        allocator
    }

    fn heads_in_thread(tls: VMThread) -> NonNull<Heads> {
        let address = tls.0.to_address() + HEADS_OFFSET.load(Ordering::Relaxed);
        NonNull::new(address.to_mut_ptr()).expect("a mutator has a thread")
    }

    /// Whether the thread's lists are to stay empty, so that every allocation comes here. The cells that are in
    /// them go with the lists. By the mutator's thread.
    pub fn hide(&mut self, hide: bool) {
        let hide = hide || self.is_precise_stress;
        if hide == self.hidden.is_some() {
            return;
        }
        let mut in_thread = Self::heads_in_thread(self.tls);
        let mut hidden = self.hidden.take().unwrap_or_default();
        // SAFETY: the VM keeps them as long as the mutator lives, and their thread is the caller.
        std::mem::swap(&mut *hidden, unsafe { in_thread.as_mut() });
        self.heads = if hide {
            NonNull::from(&mut **self.hidden.insert(hidden))
        } else {
            in_thread
        };
    }

    /// The blocks and the lists.
    fn lists(&mut self) -> (&mut Local, &mut Heads) {
        // SAFETY: the VM keeps them as long as the mutator lives, or they are in a box of this allocator.
        // Only the thread itself, or the collector while it is stopped, uses them.
        (&mut self.local, unsafe { self.heads.as_mut() })
    }

    /// What a check of the heap looks at.
    pub(super) fn thread(&self) -> Thread<'_> {
        // SAFETY: as in `lists`.
        (&self.local, unsafe { self.heads.as_ref() })
    }

    /// Makes free cells and takes the first. None if a collection was needed for it.
    fn refill(&mut self, bin: Bin, align: usize) -> Option<NonZeroUsize> {
        let heap = self.space.heap();
        let larger = Build::bin(bin.cell_bytes() + 1, align);
        self.supply(|allocator| {
            let space = allocator.space;
            let sharing = space.sharing();
            let (local, heads) = allocator.lists();
            match local.refill(heads, heap, bin, sharing) {
                refill @ Refill::Charge { least, .. } if !space.has_free(least) => larger
                    .and_then(|larger| local.borrow(heads, heap, larger, sharing))
                    .map_or(refill, Refill::Cell),
                refill => refill,
            }
        })
    }

    /// Allocates an object that is too large for a cell. None if a collection was needed for it, or if it is larger
    /// than the heap.
    fn alloc_large(&mut self, size: usize) -> Option<NonZeroUsize> {
        let pages = NonZeroUsize::new(size.div_ceil(PAGE_BYTES))?;
        if self.handle_obvious_oom_request(self.tls, pages.get() * PAGE_BYTES) {
            return None;
        }
        let heap = self.space.heap();
        let start = self.supply(|allocator| allocator.local.large(heap, pages));
        if start.is_none()
            && self.context.get_alloc_options().at_safepoint
            && !self.space.has_left(pages)
        {
            self.for_addresses = 0;
            self.out_of_memory(self.tls);
        }
        start
    }

    /// Calls `allocate` until it has what it asks for. None if that took a collection.
    fn supply(&mut self, allocate: impl Fn(&mut Self) -> Refill) -> Option<NonZeroUsize> {
        let options = self.context.get_alloc_options();
        loop {
            let chunks = self.space.times_grown();
            match allocate(self) {
                Refill::Cell(cell) => {
                    self.for_addresses = 0;
                    self.tell_reused(TOLD_BYTES);
                    return Some(cell);
                }
                Refill::Charge { least, .. } if self.is_in_vain(least) => {
                    self.out_of_memory(self.tls);
                    return None;
                }
                Refill::Charge { least, most } => {
                    let Some(charged) = self.space.charge(self.tls, least, most, options) else {
                        self.in_vain += usize::from(options.at_safepoint);
                        return None;
                    };
                    self.local.credit(charged);
                }
                Refill::Chunks(count) if self.space.add_chunks(self.tls, count, chunks) => {}
                Refill::Chunks(_) if self.is_without_addresses() => {
                    // A full collection did not help. However much of the heap is free, the VM tries once more at most: it has
                    // another clear soft references.
                    self.for_addresses = 0;
                    self.space.uncharge(self.local.take_credit());
                    self.out_of_memory(self.tls);
                    return None;
                }
                Refill::Chunks(_) => {
                    self.space.collect_for_addresses(self.tls, options);
                    self.for_addresses += usize::from(options.at_safepoint);
                    return None;
                }
            }
        }
    }

    /// Tells of cells on pages that were charged before the last collection, if the thread has been handed out so many bytes.
    fn tell_reused(&mut self, least: usize) {
        if self.local.reused() >= least {
            self.space.note_reused(self.tls, self.local.take_reused());
        }
    }

    /// Whether no collection is worth waiting for any more. mmtk counts those that have freed nothing, but begins anew where another thread
    /// gets a cell meanwhile, as it may from pages that have live objects of its size.
    fn is_in_vain(&self, pages: NonZeroUsize) -> bool {
        self.in_vain >= MOST_IN_VAIN && !self.space.has_left(pages)
    }

    /// Whether a full collection has given back no addresses that serve the present request.
    fn is_without_addresses(&self) -> bool {
        // Partial ones for other threads may come between.
        let is_exhausted = self.space.was_exhaustive() || self.for_addresses >= MOST_IN_VAIN;
        self.for_addresses > 0 && is_exhausted
    }

    /// Marks the free cells at hand, in the pause in which concurrent marking begins.
    pub(crate) fn mark_free_cells(&self) {
        let (local, heads) = self.thread();
        local.mark_free_cells(heads, self.space.heap());
    }

    /// Takes their marks back, in the pause in which it ends.
    pub(crate) fn unmark_free_cells(&self) {
        let (local, heads) = self.thread();
        local.unmark_free_cells(heads, self.space.heap());
    }

    /// Abandons all blocks, by the mutator's thread. Where nothing was allocated since it was called last, that takes no time.
    pub fn abandon(&mut self) {
        let heap = self.space.heap();
        let (local, heads) = self.lists();
        let unused = local.abandon(heads, heap);
        // What it gave back is not among it.
        self.tell_reused(1);
        self.space.uncharge(unused);
    }

    /// Forgets all blocks, during a collection.
    pub(crate) fn release(&mut self) {
        let (local, heads) = self.lists();
        let unused = local.release(heads);
        self.space.uncharge(unused);
    }
}

impl<VM: VMBinding> Allocator<VM> for FreeListAllocator<VM> {
    fn get_tls(&self) -> VMThread {
        self.tls
    }

    fn get_space(&self) -> &'static dyn Space<VM> {
        self.space
    }

    fn get_context(&self) -> &AllocatorContext<VM> {
        &self.context
    }

    fn does_thread_local_allocation(&self) -> bool {
        true
    }

    fn get_thread_local_buffer_granularity(&self) -> usize {
        PAGE_BYTES
    }

    fn alloc(&mut self, size: usize, align: usize, offset: usize) -> Address {
        debug_assert_eq!(offset, 0, "cells cannot be aligned at an offset");
        if !self.is_precise_stress {
            let bin = Build::bin(size, align);
            if let Some(cell) = bin.and_then(|bin| self.lists().1.pop(bin)) {
                return address(cell.get());
            }
        }
        self.in_vain = 0;
        self.for_addresses = 0;
        self.alloc_slow(size, align, offset)
    }

    /// Never inlined into the loop that calls it again after a collection, which has changed the thread's side meanwhile.
    #[inline(never)]
    fn alloc_slow_once(&mut self, size: usize, align: usize, _offset: usize) -> Address {
        let cell = match Build::bin(size, align) {
            // There may be a cell: lists are hidden, or the caller went past the fast path.
            Some(bin) => self.lists().1.pop(bin).or_else(|| self.refill(bin, align)),
            None => self.alloc_large(size),
        };
        cell.map_or(Address::ZERO, |cell| address(cell.get()))
    }

    fn alloc_slow_once_precise_stress(
        &mut self,
        size: usize,
        align: usize,
        offset: usize,
        need_poll: bool,
    ) -> Address {
        if need_poll {
            self.space.poll(self.tls, self.context.get_alloc_options());
        }
        self.alloc_slow_once_traced(size, align, offset)
    }

    fn on_mutator_destroy(&mut self) {
        self.abandon();
        self.space.remove_thread();
    }
}
