// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each thread has: its blocks by bin, and the slow path of allocation.

use crate::block::State;
use crate::config::Config;
use crate::heads::Heads;
use crate::heap::Heap;
use crate::size_class::{Bin, MAX_BINS};
use crate::stack::{Chain, Link, NONE};
use std::num::NonZeroUsize;

/// What a thread adopts at a time. A single block, unless blocks are so small that sweeping one costs
/// hardly more than the exchange that gets it.
const ADOPTED_BYTES: usize = 8 << 10;

/// The outcome of [`Local::refill`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Refill {
    /// A free cell, now the caller's. Its contents are arbitrary.
    Cell(NonZeroUsize),
    /// Charge this many pages to the heap, report them with [`Local::credit`], and call again. If the
    /// heap cannot be charged, collect and start over with the fast path.
    Charge(NonZeroUsize),
    /// Add a chunk to the heap and call again. If there is no address space left, this is to be taken
    /// as running out of memory.
    Chunk,
}

/// The blocks of one bin that a thread owns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Owned {
    /// The block whose free list stands in the thread's `Heads`, or `NONE`.
    pub current: Link,
    /// Adopted, may have free cells on charged pages.
    pub unswept: Chain,
    /// Without such cells, but can grow.
    pub available: Chain,
    /// Exhausted until the next collection.
    pub full: Chain,
}

/// A thread's side of the allocator. Used by one thread at a time, or by the collector while that
/// thread is stopped; always with the same [`Heads`] and the same [`Heap`].
#[derive(Debug)]
pub struct Local {
    owner: u32,
    /// Pages charged to the heap on behalf of this thread that it has not opened yet.
    credit: usize,
    pub(crate) owned: [Owned; MAX_BINS],
}

impl Local {
    /// The side of thread `owner`, a number other than 0 that no other living thread has.
    pub fn new(owner: u32) -> Local {
        debug_assert_ne!(owner, 0);
        Local {
            owner,
            credit: 0,
            owned: [Owned::default(); MAX_BINS],
        }
    }

    /// The number of the thread.
    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// Pages charged for this thread that it has not opened yet.
    pub fn unused_credit(&self) -> usize {
        self.credit
    }

    /// Reports that `pages` have been charged to the heap on behalf of this thread.
    pub fn credit(&mut self, pages: NonZeroUsize) {
        self.credit += pages.get();
    }

    /// The slow path of allocation, for when the list of `bin` in `heads` is empty: makes more free
    /// cells and hands out the first. It never blocks and calls nothing that could: where pages must
    /// be charged or a chunk is needed, it says so and leaves everything in a state in which a
    /// collection may run before the next call.
    ///
    /// Memory that is charged already comes first: what is left of the thread's own blocks, then of
    /// those that nobody owns. Only then is a page charged: in the current block, in another one of
    /// the thread's, in one that nobody owns, in a free one. So the heap grows by a page at a time,
    /// and where it is dense already.
    pub fn refill<C: Config>(&mut self, heads: &mut Heads, heap: &Heap<C>, bin: Bin) -> Refill {
        debug_assert!(heads.is_empty(bin) && bin.index() < C::BINS);
        if !self.reuse(heads, heap, bin) {
            if let Err(need) = self.grow(heads, heap, bin) {
                return need;
            }
        }
        let cell = heads.pop(bin);
        Refill::Cell(cell.expect("a refilled list has a cell"))
    }

    /// Finds free cells on charged pages: in the current block, or in an unswept one, which then
    /// becomes the current one.
    fn reuse<C: Config>(&mut self, heads: &mut Heads, heap: &Heap<C>, bin: Bin) -> bool {
        loop {
            let current = self.owned[bin.index()].current;
            if current != NONE {
                let block = heap.block(current);
                let used = block.used_cells();
                if let Some(head) = block.take::<C>(&heap.marks) {
                    heads.fill(bin, head, block.used_cells() - used);
                    return true;
                }
            }
            let Some(next) = self.next_unswept(heap, bin) else {
                return false;
            };
            self.make_current(heap, bin, next);
        }
    }

    /// An unswept block of this thread, or else one that nobody owns.
    fn next_unswept<C: Config>(&mut self, heap: &Heap<C>, bin: Bin) -> Option<Link> {
        let unswept = &mut self.owned[bin.index()].unswept;
        if unswept.is_empty() {
            for _ in 0..(ADOPTED_BYTES / C::BLOCK_BYTES).max(1) {
                let Some(adopted) = heap.adopt_unswept(bin) else {
                    break;
                };
                heap.block(adopted).set_place(State::Unswept, self.owner);
                unswept.push(&heap.directory, adopted);
            }
        }
        unswept.pop(&heap.directory)
    }

    /// Opens the next page of a block, once it is paid for.
    fn grow<C: Config>(
        &mut self,
        heads: &mut Heads,
        heap: &Heap<C>,
        bin: Bin,
    ) -> Result<(), Refill> {
        let link = self.growing_block(heap, bin).ok_or(Refill::Chunk)?;
        let block = heap.block(link);
        let growth = block.growth::<C>();
        let price = block.price::<C>(growth);
        if let Some(missing) = NonZeroUsize::new(price.saturating_sub(self.credit)) {
            return Err(Refill::Charge(missing));
        }
        self.credit -= price;
        let used = block.used_cells();
        let head = block.grow::<C>(growth, &heap.dirty_pages);
        heads.fill(bin, head, block.used_cells() - used);
        Ok(())
    }

    /// A block that can grow, made the current one.
    fn growing_block<C: Config>(&mut self, heap: &Heap<C>, bin: Bin) -> Option<Link> {
        let owned = &mut self.owned[bin.index()];
        if owned.current != NONE && heap.block(owned.current).growth::<C>() != 0 {
            return Some(owned.current);
        }
        let link = owned
            .available
            .pop(&heap.directory)
            .or_else(|| heap.adopt_available(bin))
            .or_else(|| heap.take_free(bin))?;
        self.make_current(heap, bin, link);
        Some(link)
    }

    /// Replaces the current block, which has no free cells left, and files the old one.
    fn make_current<C: Config>(&mut self, heap: &Heap<C>, bin: Bin, link: Link) {
        let owned = &mut self.owned[bin.index()];
        if owned.current != NONE {
            let old = heap.block(owned.current);
            let (list, state) = if old.growth::<C>() != 0 {
                (&mut owned.available, State::Available)
            } else {
                (&mut owned.full, State::Full)
            };
            old.set_place(state, self.owner);
            list.push(&heap.directory, owned.current);
        }
        heap.block(link).set_place(State::Current, self.owner);
        owned.current = link;
    }

    /// Gives up all blocks, so that other threads can use what is left in them, as when the thread exits.
    /// Returns the number of pages to uncharge. The thread may allocate again afterwards.
    #[must_use]
    pub fn give_up<C: Config>(&mut self, heads: &mut Heads, heap: &Heap<C>) -> usize {
        for bin in (0..C::BINS).map(Bin::from_index) {
            let mut owned = std::mem::take(&mut self.owned[bin.index()]);
            if owned.current != NONE {
                let block = heap.block(owned.current);
                let head = heads.take(bin);
                if head != 0 {
                    block.put_back(head);
                }
                let list = if block.is_reusable() {
                    &mut owned.unswept
                } else if block.growth::<C>() != 0 {
                    &mut owned.available
                } else {
                    &mut owned.full
                };
                list.push(&heap.directory, owned.current);
            }
            heap.pool(bin, owned);
        }
        std::mem::take(&mut self.credit)
    }

    /// Forgets all blocks, for a collection: [`Heap::release_chunk`] files them anew. Returns the
    /// number of pages to uncharge.
    #[must_use]
    pub fn release(&mut self, heads: &mut Heads) -> usize {
        heads.clear();
        self.owned = [Owned::default(); MAX_BINS];
        std::mem::take(&mut self.credit)
    }
}

impl<C: Config> Heap<C> {
    /// Puts the blocks that a thread gives up where other threads find them.
    fn pool(&self, bin: Bin, owned: Owned) {
        let pools = &self.pools;
        for (chain, stack, state) in [
            (
                owned.unswept,
                &pools.unswept[bin.index()],
                State::PooledUnswept,
            ),
            (
                owned.available,
                &pools.available[bin.index()],
                State::PooledAvailable,
            ),
            (owned.full, &pools.full, State::PooledFull),
        ] {
            for link in chain.iter(&self.directory) {
                self.block(link).set_place(state, 0);
            }
            stack.push(&self.directory, chain);
        }
    }
}
