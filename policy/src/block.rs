// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks: their headers, how they grow, how they are swept and how their liveness is found.
//!
//! A block is a run of pages that one bin has. Its header is that of its first page, outside of the block, so that
//! cells fill all of it and a block of one page loses nothing. A block is of one of two kinds:
//! - A *fresh* one has been claimed since the last collection. Its pages are opened from the front on, and the
//!   cells that this brings into reach are a bump region: they are never linked.
//! - A *survivor* is what a collection has left: a run of pages with live cells, all of them open. Its dead
//!   cells are found cell by cell, from the front on.
//!
//! Everything but the link, and `dirty`, is written by the block's owner alone: a thread, or the collector while all threads are
//! stopped. The fields are relaxed atomics, which cost what plain ones do, because others may look at them at any time: statistics,
//! a thread that looks for the object of an address, or one that looks whether a block of its own from before a collection is still
//! there. Ownership passes through a [`Stack`](crate::stack::Stack) or through the bitmaps of free pages, which
//! order the accesses.

use crate::config::{Accounting, Config, LOG_PAGE_BYTES, PAGE_BYTES};
use crate::heads::{cells, Cells, Linker};
use crate::marks::{count_and_last, MarkBits};
use crate::shape::Shape;
use crate::size_class::Bin;
use crate::sync::{AtomicBool, AtomicU32, AtomicU8, AtomicUsize};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// No block begins at this page.
    Unused,
    /// A thread allocates from it.
    Current,
    /// In one of the heap's pools: it may have free cells, or else pages to open.
    Pooled,
    /// Set aside by a collection for the thread that allocated from it before.
    Kept,
    /// On no list: nothing can be had from it before the next collection.
    Full,
    /// One object above the largest cell, on no list.
    Large,
}

const STATES: [State; 6] = [
    State::Unused,
    State::Current,
    State::Pooled,
    State::Kept,
    State::Full,
    State::Large,
];

/// A stretch of fewer free cells is linked, and so is one of fewer bytes: a refill ends at a bump region, so that short ones would
/// have a thread come back every few objects.
const BUMP_CELLS: usize = 8;
const BUMP_BYTES: usize = 1024;
/// A refill by sweeping stops after so many bytes in cells that it has linked, ...
const LINKED_BYTES: usize = 8192;
/// ... but not before so many cells.
const LINKED_CELLS: usize = 8;

/// The header of a block. All zero is that of a page at which no block begins.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Block {
    /// Address of the first page.
    start: AtomicUsize,
    /// Free cells that are linked already, while it is nobody's current block.
    free: AtomicUsize,
    /// Offsets between which a bump region lies, while it is nobody's current block.
    bump: AtomicU32,
    bump_end: AtomicU32,
    /// Number of pages.
    pages: AtomicU32,
    /// Number of pages, from the first one on, whose cells can be handed out: the charged ones.
    opened: AtomicU32,
    /// Offset of the first cell.
    first: AtomicU32,
    /// Offset up to which dead cells have been found.
    swept: AtomicU32,
    pub(crate) next: AtomicU32,
    /// Cells found live by the last collection.
    live: AtomicU32,
    /// Those cells, and all handed out since.
    used: AtomicU32,
    /// How many free cells were put back.
    put: AtomicU32,
    bin: AtomicU8,
    state: AtomicU8,
    /// Whether the OS may hold pages that are not open.
    dirty: AtomicBool,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Block>() == 64);

/// What the mark bits say about a block.
pub(crate) struct Liveness {
    /// The pages that live cells overlap.
    pub pages: u64,
    /// By page, how many live cells begin on it.
    begin: [u16; 64],
}

impl Liveness {
    /// Of a block without marks.
    pub const NONE: Liveness = Liveness {
        pages: 0,
        begin: [0; 64],
    };

    /// Number of live cells that begin on these pages.
    pub fn cells(&self, pages: Range<usize>) -> u32 {
        self.begin[pages]
            .iter()
            .map(|&cells| u32::from(cells))
            .sum()
    }
}

impl Block {
    /// Address of the first byte.
    pub fn start(&self) -> usize {
        self.start.load(Relaxed)
    }

    /// The size class of the cells; means nothing for a large object.
    pub fn bin(&self) -> Bin {
        Bin::from_index(self.bin.load(Relaxed) as usize)
    }

    /// Where the block is.
    pub fn state(&self) -> State {
        STATES[self.state.load(Relaxed) as usize]
    }

    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state as u8, Relaxed);
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.pages.load(Relaxed) as usize
    }

    /// Cells found live by the last collection.
    pub fn live_cells(&self) -> u32 {
        self.live.load(Relaxed)
    }

    /// Cells found live by the last collection or handed out since.
    pub fn used_cells(&self) -> u32 {
        self.used.load(Relaxed)
    }

    /// Number of cells that pages are charged for (mimalloc's capacity).
    pub fn capacity(&self) -> u32 {
        match self.state() {
            State::Large => 1,
            _ => self.shape().cells_on(self.opened()),
        }
    }

    /// Bytes in the cells that the last collection found live.
    pub fn live_bytes(&self) -> usize {
        let cell = match self.state() {
            State::Large => self.pages() * PAGE_BYTES,
            _ => self.bin().cell_bytes(),
        };
        self.live_cells() as usize * cell
    }

    /// Number of pages, from the first one on, that are charged.
    pub fn charged_pages(&self) -> usize {
        self.opened()
    }

    pub(crate) fn opened(&self) -> usize {
        self.opened.load(Relaxed) as usize
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty.load(Relaxed)
    }

    /// Notes that the OS may hold pages that are not open. By any thread.
    pub(crate) fn note_dirty(&self) {
        self.dirty.store(true, Relaxed);
    }

    pub(crate) fn shape(&self) -> Shape {
        Shape::new(self.bin(), self.first.load(Relaxed) as usize, self.pages())
    }

    pub(crate) fn swept(&self) -> usize {
        self.swept.load(Relaxed) as usize
    }

    pub(crate) fn free_cells(&self) -> impl Iterator<Item = usize> + use<> {
        cells(self.free.load(Relaxed))
    }

    /// The bump region that was put back, as addresses.
    pub(crate) fn bump(&self) -> Range<usize> {
        let start = self.start();
        let address = |offset: &AtomicU32| start + offset.load(Relaxed) as usize;
        address(&self.bump)..address(&self.bump_end)
    }

    /// Makes this the header of a fresh block without an open page; the OS may hold its pages if they are `dirty`.
    pub(crate) fn init(&self, start: usize, bin: Bin, pages: usize, dirty: bool) {
        self.init_survivor(start, bin, pages, 0);
        self.opened.store(0, Relaxed);
        // There is no mark in it: no cell needs to be looked for.
        self.swept.store((pages << LOG_PAGE_BYTES) as u32, Relaxed);
        self.dirty.store(dirty, Relaxed);
    }

    /// Makes this the header of a survivor without a live cell.
    fn init_survivor(&self, start: usize, bin: Bin, pages: usize, first: usize) {
        self.start.store(start, Relaxed);
        self.free.store(0, Relaxed);
        self.bump.store(0, Relaxed);
        self.bump_end.store(0, Relaxed);
        self.pages.store(pages as u32, Relaxed);
        self.opened.store(pages as u32, Relaxed);
        self.first.store(first as u32, Relaxed);
        self.swept.store(first as u32, Relaxed);
        self.live.store(0, Relaxed);
        self.used.store(0, Relaxed);
        self.put.store(0, Relaxed);
        self.bin.store(bin.index() as u8, Relaxed);
        self.dirty.store(false, Relaxed);
    }

    /// Makes this the header of a large object, whose pages are all charged.
    pub(crate) fn init_large(&self, start: usize, pages: usize) {
        self.init_survivor(start, Bin::from_index(0), pages, 0);
        self.used.store(1, Relaxed);
        self.set_state(State::Large);
    }

    /// Notes at a page at which no block begins that it is of the large object at `start`.
    pub(crate) fn note_within(&self, start: usize) {
        self.start.store(start, Relaxed);
    }

    /// Notes that the large object is live.
    pub(crate) fn note_live_object(&self) {
        self.live.store(1, Relaxed);
    }

    /// Whether more of its pages can be opened.
    pub(crate) fn can_grow(&self) -> bool {
        self.opened() < self.pages()
    }

    /// How many pages have to be charged, at least and at most, before more of them are opened.
    pub(crate) fn price<C: Config>(&self) -> (usize, usize) {
        let (opened, pages) = (self.opened(), self.pages());
        let least = match C::ACCOUNTING {
            Accounting::Page => self.shape().next_opened(opened),
            Accounting::Block => pages,
        };
        (least - opened, pages - opened)
    }

    /// Opens the next `pages` pages, for which the caller has paid, and returns the cells that this brings into
    /// reach.
    pub(crate) fn open(&self, pages: usize) -> Cells {
        let opened = self.opened();
        let now = opened + pages;
        debug_assert!(now <= self.pages());
        self.opened.store(now as u32, Relaxed);
        let shape = self.shape();
        let reached = shape.reached(opened, now);
        let count = (reached.len() / shape.cell_bytes()) as u32;
        debug_assert_ne!(count, 0, "a page is opened for no cell");
        self.used.store(self.used_cells() + count, Relaxed);
        Cells {
            bump: self.start() + reached.start..self.start() + reached.end,
            list: 0,
            count,
        }
    }

    /// Forgets the pages that are not open: how many there are.
    pub(crate) fn cut_unopened(&self) -> usize {
        let unopened = self.pages() - self.opened();
        self.pages.store(self.opened() as u32, Relaxed);
        unopened
    }

    /// Takes free cells on open pages: those that were put back, else some that are found by sweeping.
    pub(crate) fn take(&self, marks: &MarkBits) -> Option<Cells> {
        let cells = self.take_back().or_else(|| self.sweep(marks))?;
        self.used.store(self.used_cells() + cells.count, Relaxed);
        Some(cells)
    }

    fn take_back(&self) -> Option<Cells> {
        let (list, bump, count) = (self.free.load(Relaxed), self.bump(), self.put.load(Relaxed));
        if count == 0 {
            return None;
        }
        self.free.store(0, Relaxed);
        self.bump_end.store(self.bump.load(Relaxed), Relaxed);
        self.put.store(0, Relaxed);
        Some(Cells { bump, list, count })
    }

    /// Takes back what is left of cells that came from this block.
    pub(crate) fn put_back(&self, cells: Cells) {
        let Cells { list, bump, count } = cells;
        self.free.store(list, Relaxed);
        self.put.store(count, Relaxed);
        self.bump.store(
            (bump.start.max(self.start()) - self.start()) as u32,
            Relaxed,
        );
        self.bump_end
            .store((bump.end.max(self.start()) - self.start()) as u32, Relaxed);
        self.used.store(self.used_cells() - count, Relaxed);
    }

    /// Whether there may be a free cell on open pages.
    pub(crate) fn is_reusable(&self) -> bool {
        let end = self.first.load(Relaxed) + self.capacity() * self.bin().cell_bytes() as u32;
        self.swept() < end as usize || self.put.load(Relaxed) != 0
    }

    /// Finds dead cells, from where it stopped the last time: short stretches are linked until there is enough of
    /// them, and a long one is taken as a bump region, as whoever allocates there need not have written to it.
    fn sweep(&self, marks: &MarkBits) -> Option<Cells> {
        let shape = self.shape();
        let (start, cell) = (self.start(), shape.cell_bytes());
        let end = shape.reached(0, self.opened()).end + start;
        if start + self.swept() >= end {
            return None;
        }
        let (mut at, mut linker, mut bump) = (start + self.swept(), Linker::new(), 0..0);
        let least_bump = BUMP_BYTES.max(BUMP_CELLS * cell);
        let enough = LINKED_CELLS.max(LINKED_BYTES.div_ceil(cell));
        while at < end && bump.is_empty() && linker.count() < enough {
            let live = marks.next(at..end).unwrap_or(end);
            debug_assert_eq!((live - at) % cell, 0, "the mark at {live:#x} is at no cell");
            if live - at >= least_bump {
                bump = at..live;
            } else {
                // SAFETY: these cells lie between two marked ones, hence are not live; they are on open
                // pages, and on no list since they have not been swept. The caller owns the block.
                unsafe { linker.append(at, live, cell) };
            }
            at = live + cell;
        }
        self.swept.store((at.min(end) - start) as u32, Relaxed);
        let count = (linker.count() + bump.len() / cell) as u32;
        let list = linker.finish();
        (count != 0).then_some(Cells { bump, list, count })
    }

    /// Finds the live cells and the pages that they overlap: for each page on which a cell is `marked`, the marks are
    /// counted and the last one tells how far its cell reaches.
    pub(crate) fn liveness(
        &self,
        marked: impl Iterator<Item = usize>,
        marks: &MarkBits,
    ) -> Liveness {
        let mut live = Liveness::NONE;
        let shape = self.shape();
        for page in marked {
            let words = marks.of_page(self.start() + (page << LOG_PAGE_BYTES));
            if let Some((count, last)) = count_and_last(words) {
                live.begin[page] = count as u16;
                live.pages |= 1 << page | shape.pages_of((page << LOG_PAGE_BYTES) + last);
            }
        }
        debug_assert_eq!(
            live.pages.checked_shr(self.opened() as u32).unwrap_or(0),
            0,
            "a live cell of the block at {:#x} overlaps a page that is not open",
            self.start()
        );
        live
    }

    /// Makes `header` that of the survivor which the pages `pages` of this block are, with so many live cells. It may
    /// be this block's own.
    pub(crate) fn survive(&self, header: &Block, pages: Range<usize>, live: u32) {
        let start = self.start() + (pages.start << LOG_PAGE_BYTES);
        let first = self.shape().first_behind(pages.start);
        header.init_survivor(start, self.bin(), pages.len(), first);
        header.live.store(live, Relaxed);
        header.used.store(live, Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::marks::ones;
    use crate::{Blocks, Blocks64K};
    use std::collections::BTreeSet;

    type C = Blocks<14, false>;

    /// Memory for one block, its header and its mark bits.
    struct OneBlock {
        block: Block,
        bits: *mut u64,
        marks: MarkBits,
        memory: *mut u8,
    }

    const LAYOUT: std::alloc::Layout = match std::alloc::Layout::from_size_align(1 << 16, 1 << 16) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    };
    const BITS: usize = LAYOUT.size() >> 9;

    impl OneBlock {
        fn new(bin: Bin) -> OneBlock {
            // SAFETY: the layout is not empty.
            let memory = unsafe { std::alloc::alloc(LAYOUT) };
            let bits = Box::into_raw(vec![0u64; BITS].into_boxed_slice()).cast::<u64>();
            let start = memory.expose_provenance();
            let block = Block::default();
            block.init(start, bin, Shape::most_pages::<C>(bin), false);
            OneBlock {
                block,
                bits,
                // SAFETY: the bits cover the block and live as long as this value.
                marks: unsafe { MarkBits::new(bits.expose_provenance(), start) },
                memory,
            }
        }

        fn offsets(&self, cells: Cells) -> Vec<usize> {
            let bumped = cells.bump.step_by(self.block.bin().cell_bytes());
            let all: Vec<usize> = bumped.chain(super::cells(cells.list)).collect();
            assert_eq!(all.len(), cells.count as usize);
            all.iter().map(|cell| cell - self.block.start()).collect()
        }

        fn grow_fully(&self) -> Vec<usize> {
            let mut offsets = Vec::new();
            while self.block.can_grow() {
                offsets.extend(self.offsets(self.block.open(self.block.price::<C>().0)));
            }
            offsets
        }

        fn mark(&self, offset: usize) {
            // SAFETY: offsets are within the block.
            unsafe { *self.bits.add(offset / 512) |= 1 << (offset / 8 % 64) };
        }

        fn swept(&self, block: &Block) -> Vec<usize> {
            let ahead = block.start() - self.block.start();
            std::iter::from_fn(|| block.take(&self.marks))
                .flat_map(|cells| {
                    let bumped = cells.bump.step_by(block.bin().cell_bytes());
                    bumped.chain(super::cells(cells.list)).collect::<Vec<_>>()
                })
                .map(|cell| cell - block.start() + ahead)
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
        assert_eq!(one.block.price::<C>(), (1, 4));
        // 42 whole cells of 96 bytes lie on the first page; the 43rd reaches the second.
        assert_eq!(one.offsets(one.block.open(1)).len(), 42);
        assert_eq!(one.block.capacity(), 42);
        let next = one.offsets(one.block.open(2));
        assert_eq!(next[0], 42 * 96);
        assert_eq!(one.block.price::<C>(), (1, 1));
        assert!(!one.block.is_reusable());
    }

    #[test]
    fn whole_blocks_are_paid_once() {
        let one = OneBlock::new(Bin::holding(96));
        assert_eq!(one.block.price::<Blocks<14, true>>(), (4, 4));
        one.block.open(4);
        assert!(!one.block.can_grow());
    }

    /// Every dead cell that lies wholly on pages with a live one is found once, in survivors of any shape.
    #[test]
    fn survivors_yield_each_dead_cell_once() {
        for bin in (0..C::BINS).map(Bin::from_index) {
            if cfg!(miri) && bin.index() % 5 != 4 {
                continue;
            }
            for stride in [1, 2, 3, 7, 50, 400] {
                let one = OneBlock::new(bin);
                let all = one.grow_fully();
                let shape = one.block.shape();
                let live: BTreeSet<_> = all.iter().copied().step_by(stride).skip(1).collect();
                live.iter().for_each(|&offset| one.mark(offset));
                let liveness = one.block.liveness(0..one.block.pages(), &one.marks);
                let pages = live.iter().fold(0, |set, &cell| set | shape.pages_of(cell));
                assert_eq!(liveness.pages, pages);
                assert_eq!(liveness.cells(0..64) as usize, live.len());
                let mut free = Vec::new();
                let mut left = pages;
                while left != 0 {
                    let from = left.trailing_zeros() as usize;
                    let to = from + (left >> from).trailing_ones() as usize;
                    left &= !ones(u64::MAX >> (64 - (to - from)))
                        .fold(0, |set, bit| set | 1 << (from + bit));
                    let survivor = Block::default();
                    one.block
                        .survive(&survivor, from..to, liveness.cells(from..to));
                    let found = one.swept(&survivor);
                    let total = found.len() + survivor.live_cells() as usize;
                    assert_eq!(total, survivor.capacity() as usize);
                    assert_eq!(survivor.used_cells(), survivor.capacity());
                    assert!(!survivor.is_reusable());
                    free.extend(found);
                }
                let inside = |&&cell: &&usize| shape.pages_of(cell) & !pages == 0;
                let mut known: Vec<usize> = free.iter().chain(&live).copied().collect();
                known.sort_unstable();
                let expected: Vec<usize> = all.iter().filter(inside).copied().collect();
                assert_eq!(known, expected);
            }
        }
    }

    /// A thread comes back once for some KiB, however many stretches they are in, and a long one is not written to.
    #[test]
    fn short_stretches_are_linked_and_a_long_one_is_not() {
        let one = OneBlock::new(Bin::holding(32));
        let all = one.grow_fully();
        let (front, back) = all.split_at(all.len() / 2);
        // Of 19 cells, 608 bytes, each; then one of half the block.
        front.iter().step_by(20).for_each(|&live| one.mark(live));
        one.mark(back[0]);
        let liveness = one.block.liveness(0..one.block.pages(), &one.marks);
        let live = liveness.cells(0..one.block.pages());
        let survivor = Block::default();
        one.block.survive(&survivor, 0..one.block.pages(), live);
        let cells = survivor.take(&one.marks).expect("most cells are free");
        assert_eq!(cells.bump.len() / 32, back.len() - 1);
        assert_eq!(super::cells(cells.list).count(), front.len() * 19 / 20);
        assert_eq!(survivor.take(&one.marks), None);
    }

    #[test]
    fn cells_put_back_are_taken_first() {
        let one = OneBlock::new(Bin::holding(1024));
        let cells = one.block.open(1);
        one.block.put_back(cells.split(1, 1024).1);
        assert_eq!(one.block.used_cells(), 1);
        assert!(one.block.is_reusable());
        assert_eq!(one.swept(&one.block), [1024, 2048, 3072]);
        assert_eq!(one.block.used_cells(), 4);
    }

    #[test]
    fn a_large_cell_takes_its_pages_together() {
        let block = Block::default();
        let bin = Bin::holding(21_000);
        block.init(1 << 22, bin, Shape::most_pages::<Blocks64K>(bin), false);
        // The first cell of 22,528 bytes reaches into its sixth page.
        assert_eq!(block.price::<Blocks64K>(), (6, 61));
    }

    #[test]
    fn pages_that_are_not_open_are_cut_off() {
        let one = OneBlock::new(Bin::holding(96));
        one.block.open(1);
        assert_eq!(one.block.cut_unopened(), 3);
        assert_eq!((one.block.pages(), one.block.can_grow()), (1, false));
    }
}
