// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks: their headers, how they grow, how they are swept and how their liveness is found.
//!
//! A header lies outside the block, so that cells fill all of it and a block of one page loses nothing.
//! Everything but the link is used by the block's owner alone (a thread, or the collector while all
//! threads are stopped); the fields are relaxed atomics, which cost what plain ones do, because
//! statistics may look at them at any time. Ownership passes through a [`Stack`](crate::stack::Stack), which orders the
//! accesses. The closed pages alone are shared, with whoever purges while threads run: [`ClosedPages`].

use crate::config::{Accounting, Config, LOG_PAGE_BYTES, PAGE_BYTES};
use crate::heads::{cells, Linker};
use crate::marks::{count_and_last, for_each_marked, ones, MarkBits};
use crate::prefetch::prefetch;
use crate::shape::Shape;
use crate::size_class::Bin;
use crate::stack::NONE;
use crate::sync;
use std::num::NonZeroUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicU8, AtomicUsize};

/// Which list a block is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Of no bin, none of its pages charged; on the heap's list of free blocks.
    Free,
    /// A thread allocates from it: the head of its free list stands in the thread's `Heads`.
    Current,
    /// Owned by a thread; has no free cell on charged pages but can grow.
    Available,
    /// Owned by a thread; may have free cells on charged pages.
    Unswept,
    /// Owned by a thread; has neither free cells nor room to grow until the next collection.
    Full,
    /// In the heap's pool of blocks that may have free cells on charged pages.
    PooledUnswept,
    /// In the heap's pool of blocks that have no free cell on charged pages but can grow.
    PooledAvailable,
    /// Of no thread, without free cells or room to grow.
    PooledFull,
}

const STATES: [State; 8] = [
    State::Free,
    State::Current,
    State::Available,
    State::Unswept,
    State::Full,
    State::PooledUnswept,
    State::PooledAvailable,
    State::PooledFull,
];

/// The header of a block. For a future malloc mode, the lists of cells that were freed one by one (by
/// the owner, by other threads) are to follow in a cache line of their own.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Block {
    start: usize,
    /// Free cells that are linked already, while the block is nobody's current one.
    free: AtomicUsize,
    /// Pages whose cells can be handed out. With page accounting these are the charged ones. Between
    /// collections more become open, and only through [`ClosedPages`].
    open: AtomicU64,
    /// Open pages whose free cells have not been linked since the last collection.
    unswept: AtomicU64,
    /// Pages that are not open but may still be held from the OS.
    dirty: sync::AtomicU64,
    pub(crate) next: sync::AtomicU32,
    /// Cells found live by the last collection.
    live: AtomicU32,
    /// Those cells, and all handed out to a thread's free list since.
    used: AtomicU32,
    owner: AtomicU32,
    bin: AtomicU8,
    state: AtomicU8,
    /// Whether there were dirty pages when the last collection began: no thread had use for them in the whole
    /// time since the one before.
    cold: AtomicBool,
    /// Whether there is a [`ClosedPages`].
    closed_held: sync::AtomicBool,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Block>() == 64);

/// What the mark bits say about a block.
pub(crate) struct Liveness {
    /// Number of live cells.
    pub cells: u32,
    /// The pages that they overlap.
    pub pages: u64,
}

impl Liveness {
    /// Of a block without marks.
    pub const NONE: Liveness = Liveness { cells: 0, pages: 0 };
}

impl Block {
    /// The header of a free block at `start`.
    pub(crate) fn new(start: usize) -> Block {
        Block {
            start,
            free: AtomicUsize::new(0),
            open: AtomicU64::new(0),
            unswept: AtomicU64::new(0),
            dirty: sync::AtomicU64::new(0),
            next: sync::AtomicU32::new(NONE),
            live: AtomicU32::new(0),
            used: AtomicU32::new(0),
            owner: AtomicU32::new(0),
            bin: AtomicU8::new(0),
            state: AtomicU8::new(State::Free as u8),
            cold: AtomicBool::new(false),
            closed_held: sync::AtomicBool::new(false),
        }
    }

    /// Address of the first byte.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The size class of the cells; means nothing while the block is free.
    pub fn bin(&self) -> Bin {
        Bin::from_index(self.bin.load(Relaxed) as usize)
    }

    /// Which list the block is on.
    pub fn state(&self) -> State {
        STATES[self.state.load(Relaxed) as usize]
    }

    /// Number of the thread that owns the block, 0 for none.
    pub fn owner(&self) -> u32 {
        self.owner.load(Relaxed)
    }

    /// Cells found live by the last collection.
    pub fn live_cells(&self) -> u32 {
        self.live.load(Relaxed)
    }

    /// Cells found live by the last collection or handed out to a thread's free list since.
    pub fn used_cells(&self) -> u32 {
        self.used.load(Relaxed)
    }

    /// Number of cells that pages are charged for (mimalloc's capacity).
    pub fn capacity<C: Config>(&self) -> u32 {
        Shape::<C>::of(self.bin()).cells_on(self.open())
    }

    /// Number of pages that are charged for this block.
    pub fn charged_pages<C: Config>(&self) -> usize {
        charged::<C>(self.open())
    }

    pub(crate) fn open(&self) -> u64 {
        self.open.load(Relaxed)
    }

    pub(crate) fn unswept(&self) -> u64 {
        self.unswept.load(Relaxed)
    }

    pub(crate) fn dirty(&self) -> u64 {
        self.dirty.load(Acquire)
    }

    pub(crate) fn is_cold(&self) -> bool {
        self.cold.load(Relaxed)
    }

    /// Notes whether the block is cold. Comes before a collection makes more pages dirty.
    pub(crate) fn note_cold(&self) {
        self.cold.store(self.dirty() != 0, Relaxed);
    }

    /// Waits until nobody else holds the closed pages. Each does for one batch of pages at most.
    pub(crate) fn hold_closed(&self) -> ClosedPages<'_> {
        let held = &self.closed_held;
        while held
            .compare_exchange(false, true, Acquire, Relaxed)
            .is_err()
        {
            sync::yield_now();
        }
        ClosedPages(self)
    }

    pub(crate) fn free_cells(&self) -> impl Iterator<Item = usize> + use<> {
        cells(self.free.load(Relaxed))
    }

    pub(crate) fn set_place(&self, state: State, owner: u32) {
        self.state.store(state as u8, Relaxed);
        self.owner.store(owner, Relaxed);
    }

    /// Gives a free block to `bin`. It has no cells until it grows.
    pub(crate) fn init(&self, bin: Bin) {
        debug_assert!(self.open() == 0 && self.state() == State::Free);
        self.bin.store(bin.index() as u8, Relaxed);
    }

    /// Whether there may be a free cell on open pages.
    pub(crate) fn is_reusable(&self) -> bool {
        self.unswept() != 0 || self.free.load(Relaxed) != 0
    }

    /// The pages that the next growth would open; none if the block has all its pages.
    pub(crate) fn growth<C: Config>(&self) -> u64 {
        Shape::<C>::of(self.bin()).growth(self.open())
    }

    /// Number of pages to charge before opening `growth`.
    pub(crate) fn price<C: Config>(&self, growth: u64) -> usize {
        match C::ACCOUNTING {
            Accounting::Page => growth.count_ones() as usize,
            Accounting::Block => C::BLOCK_PAGES - self.charged_pages::<C>(),
        }
    }

    /// Opens the pages `growth`, for which the caller has paid, and returns the cells that this
    /// brings into reach. No page may be unswept: a cell between a swept and a new page would come
    /// twice. `dirty_pages` is the heap's count of them.
    pub(crate) fn grow<C: Config>(&self, growth: u64, dirty_pages: &AtomicUsize) -> NonZeroUsize {
        debug_assert!(!self.is_reusable());
        let open = self.hold_closed().open(growth, dirty_pages);
        let shape = Shape::<C>::of(self.bin());
        let reached = shape.reached_by(growth, open);
        let mut linker = Linker::new();
        // SAFETY: the cells in reach are wholly on open pages, thus charged, and were not before, so
        // they are on no list and hold no object. The caller owns the block.
        unsafe {
            linker.append(
                self.start + reached.start,
                self.start + reached.end,
                shape.cell_bytes(),
            );
        }
        let (head, count) = linker
            .finish()
            .expect("growth brings at least one cell into reach");
        self.used.store(self.used_cells() + count, Relaxed);
        head
    }

    /// Takes free cells on open pages: those that are linked already, else those of the next unswept
    /// page that has any. The caller gets a list and owns its cells.
    pub(crate) fn take<C: Config>(&self, marks: &MarkBits) -> Option<NonZeroUsize> {
        if let Some(head) = NonZeroUsize::new(self.free.swap(0, Relaxed)) {
            let count = cells(head.get()).count() as u32;
            self.used.store(self.used_cells() + count, Relaxed);
            return Some(head);
        }
        while self.unswept() != 0 {
            let page = self.unswept().trailing_zeros() as usize;
            self.unswept
                .store(self.unswept() & (self.unswept() - 1), Relaxed);
            if let Some((head, count)) = self.sweep_page::<C>(page, marks) {
                self.used.store(self.used_cells() + count, Relaxed);
                return Some(head);
            }
        }
        None
    }

    /// Takes back what is left of a list of free cells that came from this block.
    pub(crate) fn put_back(&self, head: usize) {
        let count = cells(head).count() as u32;
        self.free.store(head, Relaxed);
        self.used.store(self.used_cells() - count, Relaxed);
    }

    /// Links the unmarked cells that begin in `page` and overlap open pages only. The others overlap
    /// a page that is not charged, and come back when the block grows into it.
    fn sweep_page<C: Config>(&self, page: usize, marks: &MarkBits) -> Option<(NonZeroUsize, u32)> {
        let shape = Shape::<C>::of(self.bin());
        let range = shape.beginning_in(page, self.open());
        let (mut cell, end) = (self.start + range.start, self.start + range.end);
        let page = self.start + page * PAGE_BYTES;
        let mut linker = Linker::new();
        for_each_marked(marks.of_page(page), |offset| {
            let live = page + offset;
            debug_assert_eq!(
                (live - self.start) % shape.cell_bytes(),
                0,
                "the mark at {live:#x} is not at the start of a cell"
            );
            // SAFETY: these cells lie between two marked ones, hence are not live; they are on open
            // pages, and on no list since their page has not been swept. The caller owns the block.
            unsafe { linker.append(cell, live, shape.cell_bytes()) };
            cell = live + shape.cell_bytes();
        });
        // SAFETY: as above, behind the last marked cell.
        unsafe { linker.append(cell, end, shape.cell_bytes()) };
        linker.finish()
    }

    /// Finds the live cells and the pages that they overlap: for each open page, the marks are
    /// counted and the last one tells how far its cell reaches.
    pub(crate) fn liveness<C: Config>(&self, marks: &MarkBits) -> Liveness {
        let shape = Shape::<C>::of(self.bin());
        let words_of = |page: usize| marks.of_page(self.start + (page << LOG_PAGE_BYTES));
        let mut live = Liveness::NONE;
        ones(self.open()).for_each(|page| prefetch(words_of(page)));
        for page in ones(self.open()) {
            if let Some((count, last)) = count_and_last(words_of(page)) {
                live.cells += count;
                live.pages |= 1 << page | shape.pages_of((page << LOG_PAGE_BYTES) + last);
            }
        }
        debug_assert_eq!(
            live.pages & !self.open(),
            0,
            "a live cell of the block at {:#x} overlaps a page that is not open",
            self.start
        );
        live
    }

    /// Settles the block after marking: closes the pages that have no live cell (with page
    /// accounting) and leaves the others to be swept. Returns the number of pages to uncharge.
    pub(crate) fn settle<C: Config>(&self, live: Liveness) -> usize {
        let open = self.open();
        let keep = match C::ACCOUNTING {
            Accounting::Block if live.cells != 0 => open,
            _ => live.pages,
        };
        let close = open & !keep;
        self.dirty.store(self.dirty() | close, Release);
        self.open.store(keep, Relaxed);
        self.free.store(0, Relaxed);
        self.live.store(live.cells, Relaxed);
        self.used.store(live.cells, Relaxed);
        // Most blocks have nothing live, and are done with here.
        let full = keep != 0 && self.capacity::<C>() == live.cells;
        self.unswept.store(if full { 0 } else { keep }, Relaxed);
        // With block accounting, all pages are closed or none.
        charged::<C>(close)
    }
}

/// Number of pages that are charged for `open` pages of a block.
fn charged<C: Config>(open: u64) -> usize {
    match C::ACCOUNTING {
        Accounting::Page => open.count_ones() as usize,
        Accounting::Block if open == 0 => 0,
        Accounting::Block => C::BLOCK_PAGES,
    }
}

/// The right to do something with pages of a block that are not open: its owner has it to open them, and
/// whoever purges, to return them to the OS. So no page is returned that has been opened.
pub(crate) struct ClosedPages<'a>(&'a Block);

impl ClosedPages<'_> {
    pub(crate) fn block(&self) -> &Block {
        self.0
    }

    /// Returns the pages that are open then.
    fn open(&self, pages: u64, dirty_pages: &AtomicUsize) -> u64 {
        let open = self.0.open() | pages;
        self.0.open.store(open, Relaxed);
        self.remove_dirty(pages, dirty_pages);
        open
    }

    /// Notes that `pages` are dirty no more, and counts them off from the heap's `dirty_pages`.
    pub(crate) fn remove_dirty(&self, pages: u64, dirty_pages: &AtomicUsize) {
        let dirty = self.0.dirty();
        if dirty & pages != 0 {
            self.0.dirty.store(dirty & !pages, Release);
            dirty_pages.fetch_sub((dirty & pages).count_ones() as usize, Relaxed);
        }
    }
}

impl Drop for ClosedPages<'_> {
    fn drop(&mut self) {
        self.0.closed_held.store(false, Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Blocks, Blocks64K};
    use std::collections::BTreeSet;

    type C = Blocks<14, false>;

    /// Memory for one block, its header and its mark bits.
    struct OneBlock {
        block: Block,
        bits: *mut u64,
        marks: MarkBits,
        dirty_pages: AtomicUsize,
        memory: *mut u8,
    }

    const LAYOUT: std::alloc::Layout = match std::alloc::Layout::from_size_align(1 << 14, 1 << 14) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    };
    const BITS: usize = 1 << 14 >> 9;

    impl OneBlock {
        fn new(bin: Bin) -> OneBlock {
            // SAFETY: the layout is not empty.
            let memory = unsafe { std::alloc::alloc(LAYOUT) };
            let bits = Box::into_raw(vec![0u64; BITS].into_boxed_slice()).cast::<u64>();
            let start = memory.expose_provenance();
            let block = Block::new(start);
            block.init(bin);
            OneBlock {
                block,
                bits,
                // SAFETY: the bits cover the block and live as long as this value.
                marks: unsafe { MarkBits::new(bits.expose_provenance(), start) },
                dirty_pages: AtomicUsize::new(0),
                memory,
            }
        }

        fn grow_fully(&self) -> Vec<usize> {
            let mut offsets = Vec::new();
            while self.block.growth::<C>() != 0 {
                let head = self
                    .block
                    .grow::<C>(self.block.growth::<C>(), &self.dirty_pages);
                offsets.extend(cells(head.get()).map(|cell| cell - self.block.start));
            }
            offsets
        }

        fn mark(&self, offset: usize) {
            // SAFETY: offsets are within the block.
            unsafe { *self.bits.add(offset / 512) |= 1 << (offset / 8 % 64) };
        }

        fn swept(&self) -> Vec<usize> {
            std::iter::from_fn(|| self.block.take::<C>(&self.marks))
                .flat_map(|head| cells(head.get()))
                .map(|cell| cell - self.block.start)
                .collect()
        }
    }

    impl Drop for OneBlock {
        fn drop(&mut self) {
            // SAFETY: both came from these allocations in `new`.
            unsafe {
                std::alloc::dealloc(self.memory, LAYOUT);
                drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(
                    self.bits, BITS,
                )));
            }
        }
    }

    #[test]
    fn a_fresh_block_grows_page_by_page() {
        let one = OneBlock::new(Bin::holding(96));
        assert_eq!(one.block.growth::<C>(), 1);
        assert_eq!(one.block.price::<C>(1), 1);
        let head = one.block.grow::<C>(1, &one.dirty_pages);
        // 42 whole cells of 96 bytes lie on the first page; the 43rd reaches the second.
        assert_eq!(cells(head.get()).count(), 42);
        assert_eq!(one.block.capacity::<C>(), 42);
        assert_eq!(one.block.growth::<C>(), 2);
        let head = one.block.grow::<C>(2, &one.dirty_pages);
        assert_eq!(cells(head.get()).next(), Some(one.block.start + 42 * 96));
    }

    #[test]
    fn whole_blocks_are_paid_once() {
        type Whole = Blocks<14, true>;
        let one = OneBlock::new(Bin::holding(96));
        assert_eq!(one.block.price::<Whole>(one.block.growth::<Whole>()), 4);
        one.block.grow::<Whole>(1, &one.dirty_pages);
        assert_eq!(one.block.charged_pages::<Whole>(), 4);
        assert_eq!(one.block.price::<Whole>(one.block.growth::<Whole>()), 0);
    }

    #[test]
    fn sweeping_and_regrowing_yield_each_dead_cell_once() {
        for bin in (0..C::BINS).map(Bin::from_index) {
            if cfg!(miri) && bin.index() % 5 != 4 {
                continue;
            }
            for stride in [1, 2, 3, 7, 50, 400] {
                let one = OneBlock::new(bin);
                let all = one.grow_fully();
                let live: BTreeSet<_> = all.iter().copied().step_by(stride).skip(1).collect();
                live.iter().for_each(|&offset| one.mark(offset));
                let liveness = one.block.liveness::<C>(&one.marks);
                assert_eq!(liveness.cells as usize, live.len());
                let shape = Shape::<C>::of(bin);
                let pages = live.iter().fold(0, |set, &cell| set | shape.pages_of(cell));
                assert_eq!(liveness.pages, pages);
                one.block.settle::<C>(liveness);
                assert_eq!(one.block.charged_pages::<C>(), pages.count_ones() as usize);
                let mut free = one.swept();
                assert_eq!(free.len() + live.len(), one.block.capacity::<C>() as usize);
                free.extend(one.grow_fully());
                assert_eq!(one.block.used_cells() as usize, all.len());
                free.extend(&live);
                free.sort_unstable();
                assert_eq!(free, all);
            }
        }
    }

    #[test]
    fn cells_put_back_are_taken_first() {
        let one = OneBlock::new(Bin::holding(1024));
        let head = one.block.grow::<C>(1, &one.dirty_pages).get();
        one.block.put_back(head);
        assert_eq!(one.block.used_cells(), 0);
        assert!(one.block.is_reusable());
        assert_eq!(one.block.take::<C>(&one.marks).unwrap().get(), head);
        assert_eq!(one.block.used_cells(), 4);
    }

    #[test]
    fn a_large_cell_takes_its_pages_together() {
        let block = Block::new(1 << 22);
        block.init(Bin::holding(21_000));
        // The cell of 22,528 bytes reaches into its sixth page.
        let growth = block.growth::<Blocks64K>();
        assert_eq!(growth, 0b11_1111);
        assert_eq!(block.price::<Blocks64K>(growth), 6);
    }
}
