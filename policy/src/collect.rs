// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a collection: which blocks and pages are live.
//!
//! With all threads stopped and marking done, the embedder
//! 1. calls [`Local::release`](crate::Local::release) for every thread and [`Heap::begin_release`],
//! 2. calls [`Heap::release_chunk`] for every chunk, in parallel if it likes, and uncharges what they
//!    report,
//! 3. lets the threads go on, and takes from [`Heap::purge`] while they do.
//!
//! Steps 1 and 2 may run in any order among the threads. They touch no cell and take time by the number of
//! blocks, and of pages in blocks with a live cell; what takes time by the number of free pages is the third.

use crate::block::{Block, Liveness, State};
use crate::config::Config;
use crate::directory::Chunk;
use crate::heap::Heap;
use crate::prefetch::prefetch;
use crate::size_class::MAX_BINS;
use crate::stack::Chain;
use std::iter::zip;
use std::ops::AddAssign;
use std::sync::atomic::Ordering::Relaxed;

/// What the release of a chunk found; add those of all chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// Pages that were charged and are not any more: to be uncharged by the embedder.
    pub uncharged_pages: usize,
    /// Pages that remain charged.
    pub charged_pages: usize,
    /// Cells that hold a live object.
    pub live_cells: usize,
    /// Bytes in those cells.
    pub live_bytes: usize,
}

impl Released {
    /// Adds a block with a live object, after it has settled.
    fn add_live<C: Config>(&mut self, block: &Block) {
        let cells = block.live_cells() as usize;
        self.charged_pages += block.charged_pages::<C>();
        self.live_cells += cells;
        self.live_bytes += cells * block.bin().cell_bytes();
    }
}

impl AddAssign for Released {
    fn add_assign(&mut self, other: Released) {
        self.uncharged_pages += other.uncharged_pages;
        self.charged_pages += other.charged_pages;
        self.live_cells += other.live_cells;
        self.live_bytes += other.live_bytes;
    }
}

/// By how many headers [`Heap::release_chunk`] has them loaded before it comes to them.
const HEADERS_AHEAD: usize = 8;

/// The blocks of one chunk, sorted by where they go, so that each pool is touched once a chunk.
struct Sorted {
    free: Chain,
    dirty: Chain,
    part_dirty: Chain,
    full: Chain,
    unswept: [Chain; MAX_BINS],
    available: [Chain; MAX_BINS],
}

impl<C: Config> Heap<C> {
    /// Notes that the cell at `cell`, in a block of this heap, has been marked. Must be called for each before
    /// the release of its chunk, by any thread: mark bits of other blocks are not looked at. That is what
    /// makes collections of large heaps short in which little is live.
    ///
    /// # Safety
    /// The cell must be in the heap's range.
    #[inline(always)]
    pub unsafe fn note_marked(&self, cell: usize) {
        // SAFETY: the caller promises what is needed.
        let marked = unsafe { self.directory.marked_at(cell) };
        // Most often it is set, and then its cache line can stay with all threads that mark.
        if !marked.load(Relaxed) {
            marked.store(true, Relaxed);
        }
    }

    /// Before marking, the addresses of the blocks of `chunk` in which cells have been marked: their bits,
    /// and no others, have to be cleared. Forgets them.
    pub fn forget_marked(&self, chunk: Chunk) -> impl Iterator<Item = usize> + '_ {
        let start = self.directory.start(chunk);
        let marked = self.directory.marked(chunk).iter().enumerate();
        marked
            .filter(|(_, marked)| marked.load(Relaxed))
            .map(move |(index, marked)| {
                marked.store(false, Relaxed);
                start + (index << C::LOG_BLOCK_BYTES)
            })
    }

    /// Empties the pools; [`Heap::release_chunk`] fills them again.
    pub fn begin_release(&self) {
        self.dirty_pages.store(0, Relaxed);
        for (pool, _) in self.pools.all() {
            pool.clear();
        }
    }

    /// Finds the live blocks and pages of `chunk` from the mark bits, closes pages without a live cell
    /// (blocks without one, if blocks are charged as a whole), and puts the blocks into the pools.
    /// Different chunks may be released by different threads at the same time.
    pub fn release_chunk(&self, chunk: Chunk) -> Released {
        let mut released = Released::default();
        let mut dirty_pages = 0;
        let mut sorted = Sorted {
            free: Chain::default(),
            dirty: Chain::default(),
            part_dirty: Chain::default(),
            full: Chain::default(),
            unswept: [Chain::default(); MAX_BINS],
            available: [Chain::default(); MAX_BINS],
        };
        // Backwards, so that low addresses come out of the pools first.
        let blocks = self.directory.headers(chunk);
        let marked = self.directory.marked(chunk);
        blocks.iter().rev().take(HEADERS_AHEAD).for_each(prefetch);
        for (index, (block, marked)) in zip(blocks, marked).enumerate().rev() {
            if let Some(ahead) = index.checked_sub(HEADERS_AHEAD) {
                prefetch(&blocks[ahead]);
            }
            block.note_cold();
            if block.state() != State::Free {
                let live = match marked.load(Relaxed) {
                    true => block.liveness::<C>(&self.marks),
                    false => Liveness::NONE,
                };
                released.uncharged_pages += block.settle::<C>(live);
            }
            let is_live = block.open() != 0;
            if is_live {
                released.add_live::<C>(block);
            }
            let bin = block.bin().index();
            let dirty = block.dirty().count_ones() as usize;
            dirty_pages += dirty;
            let (list, state) = if !is_live && dirty == C::BLOCK_PAGES {
                (&mut sorted.dirty, State::Free)
            } else if !is_live && dirty != 0 {
                (&mut sorted.part_dirty, State::Free)
            } else if !is_live {
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
        self.dirty_pages.fetch_add(dirty_pages, Relaxed);
        self.add_sorted(&sorted);
        released
    }

    fn add_sorted(&self, sorted: &Sorted) {
        let pools = &self.pools;
        pools.free.push(&self.directory, sorted.free);
        pools.dirty.push(&self.directory, sorted.dirty);
        pools.part_dirty.push(&self.directory, sorted.part_dirty);
        pools.full.push(&self.directory, sorted.full);
        for bin in 0..C::BINS {
            pools.unswept[bin].push(&self.directory, sorted.unswept[bin]);
            pools.available[bin].push(&self.directory, sorted.available[bin]);
        }
    }
}
