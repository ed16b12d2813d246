// SPDX-License-Identifier: MIT OR Apache-2.0
//! A mutator's side of the space.

use super::space::MarkSweepSpace;
use super::{Build, Config};
use crate::policy::space::Space;
use crate::util::alloc::allocator::AllocatorContext;
use crate::util::alloc::Allocator;
use crate::util::{Address, VMThread};
use crate::vm::VMBinding;
use shardsweep_policy::{Bin, Heads, Local, Refill, Thread, PAGE_BYTES};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Allocates from free lists, whose heads are the first field, so that the VM can pop from them.
#[repr(C)]
pub struct FreeListAllocator<VM: VMBinding> {
    /// The lists that the fast path pops from.
    pub heads: Heads,
    local: Local,
    /// In a precise stress test the lists that are used in place of `heads`, which then stay empty so
    /// that every allocation takes the slow path.
    hidden: Option<Box<Heads>>,
    tls: VMThread,
    space: &'static MarkSweepSpace<VM>,
    context: Arc<AllocatorContext<VM>>,
}

impl<VM: VMBinding> FreeListAllocator<VM> {
    pub(crate) fn new(
        tls: VMThread,
        space: &'static MarkSweepSpace<VM>,
        context: Arc<AllocatorContext<VM>>,
    ) -> Self {
        let options = &context.options;
        let hide = *options.precise_stress && options.is_stress_test_gc_enabled();
        FreeListAllocator {
            heads: Heads::default(),
            local: Local::new(space.next_owner()),
            hidden: hide.then(Box::default),
            tls,
            space,
            context,
        }
    }

    /// The bin for an object of that size, which is small.
    #[inline(always)]
    fn bin(size: usize, align: usize) -> Bin {
        Build::bin(size, align).expect("the plan's limit keeps larger objects from this allocator")
    }

    fn heads(&mut self) -> &mut Heads {
        self.hidden.as_deref_mut().unwrap_or(&mut self.heads)
    }

    /// What a check of the heap looks at.
    pub(super) fn thread(&self) -> Thread<'_> {
        (&self.local, self.hidden.as_deref().unwrap_or(&self.heads))
    }

    /// Makes free cells and takes the first. None if a collection was needed for it.
    fn refill(&mut self, bin: Bin) -> Option<NonZeroUsize> {
        let options = self.context.get_alloc_options();
        let heap = self.space.heap();
        loop {
            let chunks = self.space.chunk_count();
            let heads = self.hidden.as_deref_mut().unwrap_or(&mut self.heads);
            match self.local.refill(heads, heap, bin) {
                Refill::Cell(cell) => return Some(cell),
                Refill::Charge(pages) => {
                    if !self.space.charge(self.tls, pages.get(), options) {
                        return None;
                    }
                    self.local.credit(pages);
                }
                Refill::Chunk => {
                    if !self.space.add_chunk(self.tls, chunks, options) {
                        return None;
                    }
                }
            }
        }
    }

    /// Forgets all blocks, during a collection.
    pub(crate) fn release(&mut self) {
        let heads = self.hidden.as_deref_mut().unwrap_or(&mut self.heads);
        let unused = self.local.release(heads);
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
        match self.heads.pop(Self::bin(size, align)) {
            Some(cell) => address(cell),
            None => self.alloc_slow(size, align, offset),
        }
    }

    fn alloc_slow_once(&mut self, size: usize, align: usize, _offset: usize) -> Address {
        let bin = Self::bin(size, align);
        // There may be a cell: lists are hidden, or the caller went past the fast path.
        let cell = self.heads().pop(bin).or_else(|| self.refill(bin));
        cell.map_or(Address::ZERO, address)
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
        let heads = self.hidden.as_deref_mut().unwrap_or(&mut self.heads);
        let unused = self.local.give_up(heads, self.space.heap());
        self.space.uncharge(unused);
    }
}

fn address(cell: NonZeroUsize) -> Address {
    // SAFETY: a cell has an address.
    unsafe { Address::from_usize(cell.get()) }
}
