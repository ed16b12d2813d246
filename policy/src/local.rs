// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each thread has: a block by bin, and the slow path of allocation.

use crate::block::State;
use crate::config::{Accounting, Config, LOG_PAGE_BYTES};
use crate::heads::{Cells, Heads};
use crate::heap::Heap;
use crate::pages::CHUNK_PAGES;
use crate::purge::PageRange;
use crate::shape::Shape;
use crate::size_class::{Bin, MAX_BINS};
use crate::stack::{Chain, Link, NONE};
use std::num::NonZeroUsize;

/// The outcome of [`Local::refill`] and [`Local::large`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Refill {
    /// A free cell, or the first byte of a large object; now the caller's. The contents are arbitrary.
    Cell(NonZeroUsize),
    /// Charge pages to the heap, report them with [`Local::credit`], and call again. If the heap cannot be charged,
    /// collect and start over with the fast path.
    Charge {
        /// Fewer are of no use.
        least: NonZeroUsize,
        /// More would stay unused. Where the heap is far from full, to charge that many saves calls.
        most: NonZeroUsize,
    },
    /// Add this many adjacent chunks to the heap and call again. If there is no address space left, collect; where that
    /// does not help, memory has run out.
    Chunks(usize),
}

/// Whom the free cells are for that a refill finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The thread alone, which keeps their block.
    Exclusive,
    /// All threads: this one takes a few, and the block goes back to where others find the rest. For a heap in which a page
    /// a thread and bin is much. Where blocks are charged as a whole this is as `Exclusive`.
    Shared,
}

/// Under [`Sharing::Shared`] a refill takes so many bytes in cells, or one cell if that is larger.
const SHARED_BYTES: usize = 512;

/// Where a thread opens so many clean pages at once, one system call makes them resident. Its first blocks of a bin are shorter.
const POPULATED_PAGES: usize = 4;

/// A thread's side of the allocator. Used by one thread at a time, or by the collector while that
/// thread is stopped; always with the same [`Heads`] and the same [`Heap`].
#[derive(Debug)]
pub struct Local {
    /// Pages charged to the heap on behalf of this thread that it has not opened yet.
    credit: usize,
    /// Bytes in free cells of survivors that this thread has been handed out since they were last taken, or a collection was.
    reused: usize,
    /// By bin, the block whose cells stand in the thread's `Heads`, or `NONE`.
    pub(crate) current: [Link; MAX_BINS],
    /// By bin, the block that the last collection may have kept for this thread, or `NONE`.
    pub(crate) former: [Link; MAX_BINS],
    /// A bit for each bin that has had cells or a block since the thread last abandoned all.
    used_bins: u128,
    /// By bin, pages that the next fresh block is to have.
    lengths: [u8; MAX_BINS],
}

const _: () = assert!(MAX_BINS <= u128::BITS as usize);

impl Default for Local {
    fn default() -> Self {
        Local {
            credit: 0,
            reused: 0,
            current: [NONE; MAX_BINS],
            former: [NONE; MAX_BINS],
            used_bins: 0,
            lengths: [1; MAX_BINS],
        }
    }
}

impl Local {
    /// Pages charged for this thread that it has not opened yet.
    pub fn unused_credit(&self) -> usize {
        self.credit
    }

    /// Bytes in cells, free on pages that a collection has left charged, that this thread has been handed out since they were last
    /// taken, or a collection was.
    pub fn reused(&self) -> usize {
        self.reused
    }

    /// Takes them.
    pub fn take_reused(&mut self) -> usize {
        std::mem::take(&mut self.reused)
    }

    /// Reports that `pages` have been charged to the heap on behalf of this thread.
    pub fn credit(&mut self, pages: NonZeroUsize) {
        self.credit += pages.get();
    }

    /// Takes the pages that were charged for this thread and that it has not opened yet, to uncharge them.
    #[must_use]
    pub fn take_credit(&mut self) -> usize {
        std::mem::take(&mut self.credit)
    }

    /// The slow path of allocation, for when `heads` has no cell of `bin`: makes more free cells and hands out the
    /// first. It waits for no other thread; with huge pages it may have the OS make one. Where pages must be charged or a chunk is
    /// needed, it says so and leaves everything in a state in which a collection may run before the next call.
    ///
    /// Memory that is charged already comes first: what is left of the thread's own block, also behind a collection, then of those
    /// that nobody owns. Only then are pages charged: of the current block, or of a fresh one.
    pub fn refill<C: Config>(
        &mut self,
        heads: &mut Heads,
        heap: &Heap<C>,
        bin: Bin,
        sharing: Sharing,
    ) -> Refill {
        debug_assert!(heads.is_empty(bin) && bin.index() < C::BINS);
        self.used_bins |= 1 << bin.index();
        let cells = match self.reuse(heap, bin) {
            Some(cells) => cells,
            None => match self.grow(heap, bin, sharing) {
                Ok(cells) => cells,
                Err(need) => return need,
            },
        };
        self.hand_over(heads, heap, bin, cells, sharing);
        let cell = heads.pop(bin);
        Refill::Cell(cell.expect("a refill brings at least one cell"))
    }

    /// Takes a free cell of `larger`, the next bin that serves an object, if there is one on charged pages: for when the pages that a
    /// refill needs cannot be charged. The cell is larger than its object, and puts a collection off. None where blocks are
    /// charged as a whole.
    pub fn borrow<C: Config>(
        &mut self,
        heads: &mut Heads,
        heap: &Heap<C>,
        larger: Bin,
        sharing: Sharing,
    ) -> Option<NonZeroUsize> {
        if C::ACCOUNTING == Accounting::Block {
            return None;
        }
        if let Some(cell) = heads.pop(larger) {
            return Some(cell);
        }
        self.used_bins |= 1 << larger.index();
        let cells = self.reuse(heap, larger)?;
        self.hand_over(heads, heap, larger, cells, sharing);
        heads.pop(larger)
    }

    /// Puts free cells of the current block into the heads.
    fn hand_over<C: Config>(
        &mut self,
        heads: &mut Heads,
        heap: &Heap<C>,
        bin: Bin,
        cells: Cells,
        sharing: Sharing,
    ) {
        let is_survivor = heap.block(self.current[bin.index()]).live_cells() != 0;
        let cells = match (C::ACCOUNTING, sharing) {
            (Accounting::Page, Sharing::Shared) => self.share(heap, bin, cells),
            _ => cells,
        };
        if is_survivor {
            self.reused += cells.count as usize * bin.cell_bytes();
        }
        heads.fill(bin, cells);
        if heap.allocates_marked() {
            heap.mark_cells(heads.cells(bin));
        }
    }

    /// Allocates an object of `pages` pages that is too large for a cell.
    pub fn large<C: Config>(&mut self, heap: &Heap<C>, pages: NonZeroUsize) -> Refill {
        if let Some(missing) = NonZeroUsize::new(pages.get().saturating_sub(self.credit)) {
            return Refill::Charge {
                least: missing,
                most: missing,
            };
        }
        let Some(run) = heap.claim_across(pages.get()) else {
            return Refill::Chunks(pages.get().div_ceil(CHUNK_PAGES));
        };
        self.credit -= pages.get();
        let start = heap.directory.address(run.pages.start);
        heap.directory
            .header(run.pages.start)
            .init_large(start, pages.get());
        // Where the object begins is found from each chunk that it reaches into, see `Directory::start_of`.
        let next_chunk = (run.pages.start + 1).next_multiple_of(CHUNK_PAGES);
        for page in (next_chunk..run.pages.end).step_by(CHUNK_PAGES) {
            heap.directory.header(page).note_within(start);
        }
        heap.directory.set_start(run.pages.start);
        heap.directory.set_young(run.pages.start);
        if heap.allocates_marked() {
            heap.mark_cells(std::iter::once(start));
        }
        Refill::Cell(NonZeroUsize::new(start).expect("no chunk is at address 0"))
    }

    /// Takes free cells on charged pages: from the current block, or from one that nobody owns, which then becomes
    /// the current one.
    fn reuse<C: Config>(&mut self, heap: &Heap<C>, bin: Bin) -> Option<Cells> {
        loop {
            let current = self.current[bin.index()];
            if current != NONE {
                if let Some(cells) = heap.block(current).take(&heap.sweep) {
                    return Some(cells);
                }
            }
            let next = self.take_former(heap, bin).or_else(|| heap.adopt(bin))?;
            self.make_current(heap, bin, next);
        }
    }

    /// Takes what the last collection has left of the thread's own block, on which no other thread has allocated.
    fn take_former<C: Config>(&mut self, heap: &Heap<C>, bin: Bin) -> Option<Link> {
        let former = std::mem::replace(&mut self.former[bin.index()], NONE);
        // Whatever else begins at its page by now has another state.
        (former != NONE && heap.block(former).state() == State::Kept).then_some(former)
    }

    /// Opens pages of a block, once they are paid for.
    fn grow<C: Config>(
        &mut self,
        heap: &Heap<C>,
        bin: Bin,
        sharing: Sharing,
    ) -> Result<Cells, Refill> {
        let current = self.current[bin.index()];
        if current == NONE || !heap.block(current).can_grow() {
            let shared = heap.growing[bin.index()].pop(&heap.directory);
            let next = shared.or_else(|| self.claim_block(heap, bin, sharing));
            self.make_current(heap, bin, next.ok_or(Refill::Chunks(1))?);
        }
        let block = heap.block(self.current[bin.index()]);
        let (least, most) = block.price::<C>();
        let most = match sharing {
            Sharing::Exclusive => most,
            Sharing::Shared => least,
        };
        if let Some(missing) = NonZeroUsize::new(least.saturating_sub(self.credit)) {
            return Err(Refill::Charge {
                least: missing,
                most: missing.saturating_add(most - least),
            });
        }
        let pages = self.credit.min(most);
        self.credit -= pages;
        let opened = block.opened();
        let cells = block.open(pages);
        if let Some(populate) = &heap.populate {
            if C::ACCOUNTING == Accounting::Page && pages >= POPULATED_PAGES && !block.is_dirty() {
                populate(PageRange {
                    start: block.start() + (opened << LOG_PAGE_BYTES),
                    pages,
                });
            }
        }
        Ok(cells)
    }

    /// Leaves a few of the cells with the thread. The others go back to their block, which is the current one, and that to
    /// where other threads find it.
    fn share<C: Config>(&mut self, heap: &Heap<C>, bin: Bin, cells: Cells) -> Cells {
        let link = std::mem::replace(&mut self.current[bin.index()], NONE);
        let (few, rest) = cells.split(SHARED_BYTES.div_ceil(bin.cell_bytes()), bin.cell_bytes());
        heap.block(link).put_back(rest);
        heap.publish(link);
        few
    }

    /// Makes a fresh block of `bin`. That of one thread is the longer, the more of them the thread has needed before: pages
    /// that it has not opened serve nobody else. A shared one is as long as its cells fill it well.
    fn claim_block<C: Config>(
        &mut self,
        heap: &Heap<C>,
        bin: Bin,
        sharing: Sharing,
    ) -> Option<Link> {
        let length = &mut self.lengths[bin.index()];
        let least = Shape::least_pages(bin);
        let longest = Shape::most_pages::<C>(bin);
        let run = match (C::ACCOUNTING, sharing) {
            (Accounting::Block, _) => heap.claim(C::BLOCK_PAGES, C::BLOCK_PAGES, C::BLOCK_PAGES)?,
            (Accounting::Page, Sharing::Shared) => {
                heap.claim(least, Shape::filled_pages::<C>(bin), 1)?
            }
            (Accounting::Page, Sharing::Exclusive) => {
                let most = (*length as usize).clamp(least, longest);
                let run = heap.claim(least, most, 1)?;
                *length = (2 * most).min(longest) as u8;
                run
            }
        };
        let page = run.pages.start;
        let mut pages = run.pages.len();
        if C::ACCOUNTING == Accounting::Page {
            // What is too short for one more cell serves others.
            pages = Shape::new(bin, 0, pages).used_pages();
            heap.give(page + pages..run.pages.end, run.dirty);
        }
        let start = heap.directory.address(page);
        heap.directory
            .header(page)
            .init(start, bin, pages, run.dirty);
        heap.directory.set_start(page);
        Some(heap.directory.link_to(page))
    }

    /// Replaces the current block, which has no free cells left.
    fn make_current<C: Config>(&mut self, heap: &Heap<C>, bin: Bin, link: Link) {
        let old = std::mem::replace(&mut self.current[bin.index()], link);
        if old != NONE {
            heap.abandon_block(old);
        }
        heap.block(link).set_state(State::Current);
        heap.directory.set_young(heap.directory.page_of(link));
    }

    /// Abandons all blocks, so that other threads can use what is left in them, as when the thread exits. Takes time by
    /// the number of bins that the thread has used since it last had no block, and by that of the cells on their lists: none where
    /// it is called again. Returns the number of pages to uncharge. The thread may allocate again afterwards.
    #[must_use]
    pub fn abandon<C: Config>(&mut self, heads: &mut Heads, heap: &Heap<C>) -> usize {
        for bin in bins(std::mem::take(&mut self.used_bins)) {
            if heap.allocates_marked() {
                heap.marks.clear(heads.cells(bin));
            }
            let cells = heads.take(bin);
            let current = std::mem::replace(&mut self.current[bin.index()], NONE);
            // Of a block that is shared, what the thread has at hand is found dead by the next collection.
            if current != NONE {
                let block = heap.block(current);
                if block.live_cells() != 0 {
                    let unused = cells.count as usize * bin.cell_bytes();
                    self.reused = self.reused.saturating_sub(unused);
                }
                block.put_back(cells);
                heap.abandon_block(current);
            }
            if let Some(former) = self.take_former(heap, bin) {
                heap.publish(former);
            }
        }
        self.take_credit()
    }

    /// Marks the free cells that the thread has at hand: from now on objects in them are taken for live. In the pause in
    /// which marking begins, see [`Heap::with_sweep_bits`].
    pub fn mark_free_cells<C: Config>(&self, heads: &Heads, heap: &Heap<C>) {
        for bin in bins(self.used_bins) {
            heap.mark_cells(heads.cells(bin));
        }
    }

    /// Takes the marks of the free cells back that the thread still has at hand, in the pause in which marking ends.
    pub fn unmark_free_cells<C: Config>(&self, heads: &Heads, heap: &Heap<C>) {
        for bin in bins(self.used_bins) {
            heap.marks.clear(heads.cells(bin));
        }
    }

    /// Forgets all blocks, for a collection: [`Heap::release_chunks`] files them anew. Returns the
    /// number of pages to uncharge.
    #[must_use]
    pub fn release(&mut self, heads: &mut Heads) -> usize {
        heads.clear();
        self.former = std::mem::replace(&mut self.current, [NONE; MAX_BINS]);
        for length in &mut self.lengths {
            *length = length.div_ceil(2);
        }
        self.reused = 0;
        self.take_credit()
    }
}

/// The bins whose bits are set.
fn bins(mut set: u128) -> impl Iterator<Item = Bin> {
    std::iter::from_fn(move || {
        let lowest = (set != 0).then_some(set.trailing_zeros())?;
        set &= set - 1;
        Some(Bin::from_index(lowest as usize))
    })
}

impl<C: Config> Heap<C> {
    /// Puts a block that a thread has no more use for where others find what is left of it.
    fn abandon_block(&self, link: Link) {
        let block = self.block(link);
        let page = self.directory.page_of(link);
        let end = page + block.pages();
        let unopened = block.cut_unopened();
        let dirty = block.is_dirty();
        if block.pages() == 0 {
            self.forget_block(page);
        } else {
            self.publish(link);
        }
        self.give(end - unopened..end, dirty);
    }

    /// Puts a block with an open page, which no thread owns, where threads look for free cells, or else for pages to open.
    fn publish(&self, link: Link) {
        let block = self.block(link);
        let stacks = if block.is_reusable() {
            &self.abandoned
        } else if block.can_grow() {
            &self.growing
        } else {
            block.set_state(State::Full);
            return;
        };
        block.set_state(State::Pooled);
        let mut chain = Chain::default();
        chain.push(&self.directory, link);
        stacks[block.bin().index()].push(&self.directory, chain);
    }
}
