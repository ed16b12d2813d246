// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a collection: which blocks and pages are live, and what goes back to the OS.
//!
//! With all threads stopped and marking done, the embedder
//! 1. calls [`Local::release`](crate::Local::release) for every thread and [`Heap::begin_release`],
//! 2. calls [`Heap::release_chunk`] for every chunk, in parallel if it likes, and uncharges what they
//!    report,
//! 3. calls [`Heap::purge_chunk`] for every chunk, likewise, and hands the ranges to the OS,
//! 4. lets the threads go on, and calls [`Heap::purge_free`] while they do.
//!
//! Steps 1 and 2 may run in any order among the threads. No step touches a cell. The first three take time
//! by the number of blocks; what takes time by the number of free pages is the fourth.

use crate::block::{Block, State};
use crate::config::{Config, LOG_PAGE_BYTES, PAGE_BYTES};
use crate::directory::Chunk;
use crate::heap::Heap;
use crate::size_class::MAX_BINS;
use crate::stack::{Chain, Link};
use std::ops::AddAssign;

/// How much [`Heap::purge_free`] takes at a time: little enough that a collection need not wait long for it.
const PURGED_BYTES: usize = 1 << 20;

/// What the release of a chunk found; add those of all chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// Pages that were charged and are not any more: to be uncharged by the embedder.
    pub uncharged_pages: usize,
    /// Pages that remain charged.
    pub charged_pages: usize,
    /// Pages that are not charged but may be resident, of blocks with a live object.
    pub dirty_live_pages: usize,
    /// The same, of free blocks.
    pub dirty_free_pages: usize,
    /// Cells that hold a live object.
    pub live_cells: usize,
    /// Bytes in those cells.
    pub live_bytes: usize,
    /// Blocks with a live object.
    pub live_blocks: usize,
}

impl AddAssign for Released {
    fn add_assign(&mut self, other: Released) {
        self.uncharged_pages += other.uncharged_pages;
        self.charged_pages += other.charged_pages;
        self.dirty_live_pages += other.dirty_live_pages;
        self.dirty_free_pages += other.dirty_free_pages;
        self.live_cells += other.live_cells;
        self.live_bytes += other.live_bytes;
        self.live_blocks += other.live_blocks;
    }
}

impl Released {
    /// How many pages of free blocks have to be purged so that at most `keep` pages are dirty in all, given
    /// that those of other blocks are purged down to that already.
    pub fn free_pages_to_purge(&self, keep: usize) -> usize {
        let left = keep - self.dirty_live_pages.min(keep);
        self.dirty_free_pages.saturating_sub(left)
    }
}

/// Adjacent pages that the OS may take back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// Address of the first page.
    pub start: usize,
    /// Number of pages.
    pub pages: usize,
}

/// The blocks of one chunk, sorted by where they go, so that each pool is touched once a chunk.
struct Sorted {
    free: Chain,
    dirty: Chain,
    full: Chain,
    unswept: [Chain; MAX_BINS],
    available: [Chain; MAX_BINS],
}

impl<C: Config> Heap<C> {
    /// Empties the pools; [`Heap::release_chunk`] fills them again.
    pub fn begin_release(&self) {
        for (pool, _) in self.pools.all() {
            pool.clear();
        }
    }

    /// Finds the live blocks and pages of `chunk` from the mark bits, closes pages without a live cell
    /// (blocks without one, if blocks are charged as a whole), and puts the blocks into the pools.
    /// Different chunks may be released by different threads at the same time.
    pub fn release_chunk(&self, chunk: Chunk) -> Released {
        let mut released = Released::default();
        let mut sorted = Sorted {
            free: Chain::default(),
            dirty: Chain::default(),
            full: Chain::default(),
            unswept: [Chain::default(); MAX_BINS],
            available: [Chain::default(); MAX_BINS],
        };
        // Backwards, so that low addresses come out of the pools first.
        for (index, block) in self.directory.headers(chunk).iter().enumerate().rev() {
            if block.state() != State::Free {
                let live = block.liveness::<C>(&self.marks);
                released.live_cells += live.cells as usize;
                released.live_bytes += live.cells as usize * block.bin().cell_bytes();
                released.live_blocks += usize::from(live.cells != 0);
                released.uncharged_pages += block.settle::<C>(live);
                released.charged_pages += block.charged_pages::<C>();
            }
            let bin = block.bin().index();
            let dirty = block.dirty().count_ones() as usize;
            let is_free = block.state() == State::Free || block.live_cells() == 0;
            if is_free {
                released.dirty_free_pages += dirty;
            } else {
                released.dirty_live_pages += dirty;
            }
            let (list, state) = if is_free && dirty != 0 {
                (&mut sorted.dirty, State::Free)
            } else if is_free {
                (&mut sorted.free, State::Free)
            } else if block.is_reusable() {
                (&mut sorted.unswept[bin], State::PooledUnswept)
            } else if block.growth::<C>() != 0 {
                (&mut sorted.available[bin], State::PooledAvailable)
            } else {
                (&mut sorted.full, State::PooledFull)
            };
            block.set_place(state, 0);
            list.push(&self.directory, self.directory.link_to(chunk, index));
        }
        self.add_sorted(&sorted);
        released
    }

    fn add_sorted(&self, sorted: &Sorted) {
        let pools = &self.pools;
        pools.free.push(&self.directory, sorted.free);
        pools.dirty.push(&self.directory, sorted.dirty);
        pools.full.push(&self.directory, sorted.full);
        for bin in 0..C::BINS {
            pools.unswept[bin].push(&self.directory, sorted.unswept[bin]);
            pools.available[bin].push(&self.directory, sorted.available[bin]);
        }
    }

    /// Chooses pages of `chunk` that are resident without being charged, in blocks with a live object, and
    /// passes them to `release` as ranges of adjacent pages, the longest first; `release` must give them back
    /// to the OS before it returns. `dirty_pages` is [`Released::dirty_live_pages`] of all chunks, and `keep`
    /// the number of pages that may remain resident in all; each chunk keeps its share.
    ///
    /// With `keep` at max(1 MiB, 5 % of the heap) here and for [`Heap::purge_free`], what the OS holds for
    /// the heap is within that of what is charged, then and until the next collection: pages become dirty at
    /// no other time. Keeping the short ranges saves the most system calls.
    pub fn purge_chunk(
        &self,
        chunk: Chunk,
        dirty_pages: usize,
        keep: usize,
        release: impl FnOnce(&[PageRange]),
    ) {
        if dirty_pages <= keep {
            return;
        }
        let headers = self.directory.headers(chunk).iter();
        let mut ranges = dirty_ranges(headers.filter(|block| block.state() != State::Free));
        let dirty: usize = ranges.iter().map(|range| range.pages).sum();
        // A product of two page counts would only overflow for heaps of many TiB; be safe anyway.
        let share = (dirty as u128 * keep as u128 / dirty_pages as u128) as usize;
        ranges.sort_unstable_by_key(|range| (usize::MAX - range.pages, range.start));
        let mut left = dirty;
        let enough = ranges
            .iter()
            .take_while(|range| {
                let go_on = left > share;
                left -= range.pages * usize::from(go_on);
                go_on
            })
            .count();
        ranges.truncate(enough);
        if ranges.is_empty() {
            return;
        }
        release(&ranges);
        for range in &ranges {
            self.note_returned(*range);
        }
    }

    /// Takes free blocks with dirty pages, up to 1 MiB of them, passes these pages to `release` as
    /// [`Heap::purge_chunk`] does, and puts the blocks back. Returns the number of pages; 0 if no such
    /// block was left. Threads may allocate meanwhile: they do not get the blocks that this call has in
    /// hand. No collection may begin before it returns.
    pub fn purge_free(&self, release: impl FnOnce(&[PageRange])) -> usize {
        let count = (PURGED_BYTES / C::BLOCK_BYTES).max(1);
        let pop = |_| self.pools.dirty.pop(&self.directory);
        let mut taken: Vec<Link> = (0..count).map_while(pop).collect();
        if taken.is_empty() {
            return 0;
        }
        // By address, so that ranges go on from block to block.
        taken.sort_unstable();
        let ranges = dirty_ranges(taken.iter().map(|&link| self.block(link)));
        release(&ranges);
        let mut clean = Chain::default();
        for &link in taken.iter().rev() {
            self.block(link).returned(u64::MAX);
            clean.push(&self.directory, link);
        }
        self.pools.free.push(&self.directory, clean);
        ranges.iter().map(|range| range.pages).sum()
    }

    fn note_returned(&self, range: PageRange) {
        let mut page = range.start;
        let end = range.start + range.pages * PAGE_BYTES;
        while page < end {
            let Some(block) = self.block_at(page) else {
                unreachable!("dirty pages lie in blocks");
            };
            let first = (page - block.start()) >> LOG_PAGE_BYTES;
            let block_end = (block.start() + C::BLOCK_BYTES).min(end);
            let pages = (block_end - page) >> LOG_PAGE_BYTES;
            block.returned((u64::MAX >> (64 - pages)) << first);
            page = block_end;
        }
    }
}

/// The dirty pages of blocks, which come by address, adjacent ones together.
fn dirty_ranges<'a>(blocks: impl Iterator<Item = &'a Block>) -> Vec<PageRange> {
    let mut ranges: Vec<PageRange> = Vec::new();
    for block in blocks {
        let mut left = block.dirty();
        while left != 0 {
            let page = left.trailing_zeros();
            let pages = (left >> page).trailing_ones() as usize;
            // Adding at the lowest bit carries through the run of ones, and out of a full word.
            left &= left.wrapping_add(1 << page);
            let start = block.start() + ((page as usize) << LOG_PAGE_BYTES);
            match ranges.last_mut() {
                Some(last) if last.start + last.pages * PAGE_BYTES == start => {
                    last.pages += pages;
                }
                _ => ranges.push(PageRange { start, pages }),
            }
        }
    }
    ranges
}
