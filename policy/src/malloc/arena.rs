// SPDX-License-Identifier: MIT OR Apache-2.0
//! All chunks of the process, and the runs of pages in them that become blocks.
//!
//! Nothing here is locked, so a thread that a fork left behind in the middle of it stops nobody. Headers of
//! chunks stay mapped: what is free in a chunk is given back to the OS page by page, after a delay.

use super::block::{Block, SINGLE};
use super::chunk::{Chunk, BLOCK_ALIGN, HEADER_PAGES, MAX_BLOCK_PAGES};
use super::secure::GUARD_PAGES;
use super::{options, os};
use crate::config::{CHUNK_BYTES, PAGE_BYTES};
use crate::pages::{runs, Source, Wanted, CHUNK_PAGES};
use crate::size_class::MAX_BINS;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{fence, AtomicPtr, AtomicU64, AtomicUsize};

/// Attempts to get pages while others hold free ones. It is bounded, as a thread may be stopped in the middle of that.
const PATIENCE: usize = 100;

/// 512 GiB.
const MAX_CHUNKS: usize = 1 << 17;

/// Numbers for the statistics, and for the tests.
pub(crate) struct Counters {
    /// By bin; the last is for blocks of one cell in chunks.
    pub bins: [BinCounters; MAX_BINS + 1],
    pub blocks_adopted: AtomicUsize,
    pub blocks_abandoned: AtomicUsize,
    pub pages_reset: AtomicUsize,
    pub huge_now: AtomicUsize,
    pub huge_total: AtomicUsize,
    pub threads: AtomicUsize,
}

impl Counters {
    fn bin(&self, block: &Block) -> &BinCounters {
        &self.bins[(block.bin.get() as usize).min(MAX_BINS)]
    }
}

/// Of the blocks of one bin.
pub(crate) struct BinCounters {
    pub blocks: AtomicUsize,
    pub blocks_peak: AtomicUsize,
    pub blocks_claimed: AtomicUsize,
}

impl BinCounters {
    #[allow(clippy::declare_interior_mutable_const)] // It is copied, never used in place.
    const NONE: BinCounters = BinCounters {
        blocks: AtomicUsize::new(0),
        blocks_peak: AtomicUsize::new(0),
        blocks_claimed: AtomicUsize::new(0),
    };

    fn claimed(&self) {
        let blocks = self.blocks.fetch_add(1, Relaxed) + 1;
        if blocks > self.blocks_peak.load(Relaxed) {
            self.blocks_peak.fetch_max(blocks, Relaxed);
        }
        self.blocks_claimed.fetch_add(1, Relaxed);
    }
}

pub(crate) struct Arena {
    chunks: [AtomicPtr<Chunk>; MAX_CHUNKS],
    len: AtomicUsize,
    /// For each chunk whether it may have a run for the shortest block.
    room: [AtomicU64; MAX_CHUNKS / 64],
    dirty_pages: AtomicUsize,
    /// When dirty pages are to be given back, in milliseconds; 0 where there are none.
    reset_at: AtomicU64,
    /// By bin the blocks without an owner.
    pub abandoned: [AtomicUsize; MAX_BINS],
    /// Chunks that are unmapped but for their header.
    parked: AtomicUsize,
    /// Threads that hold free pages for a moment, to return them to the OS or to unmap them.
    holders: AtomicUsize,
    /// The chunk at which the next search for an abandoned block begins.
    pub adopt_from: AtomicUsize,
    pub counters: Counters,
}

pub(crate) static ARENA: Arena = Arena {
    chunks: [const { AtomicPtr::new(null_mut()) }; MAX_CHUNKS],
    len: AtomicUsize::new(0),
    room: [const { AtomicU64::new(0) }; MAX_CHUNKS / 64],
    dirty_pages: AtomicUsize::new(0),
    reset_at: AtomicU64::new(0),
    abandoned: [const { AtomicUsize::new(0) }; MAX_BINS],
    parked: AtomicUsize::new(0),
    holders: AtomicUsize::new(0),
    adopt_from: AtomicUsize::new(0),
    counters: Counters {
        bins: [const { BinCounters::NONE }; MAX_BINS + 1],
        blocks_adopted: AtomicUsize::new(0),
        blocks_abandoned: AtomicUsize::new(0),
        pages_reset: AtomicUsize::new(0),
        huge_now: AtomicUsize::new(0),
        huge_total: AtomicUsize::new(0),
        threads: AtomicUsize::new(0),
    },
};

impl Arena {
    /// Chunk `index`, if there is one.
    pub fn chunk(&self, index: usize) -> Option<&'static Chunk> {
        let chunk = self.chunks.get(index)?.load(Acquire);
        // SAFETY: the chunk was whole when it came here, and stays mapped.
        unsafe { chunk.as_ref() }
    }

    /// Number of chunks.
    pub fn len(&self) -> usize {
        self.len.load(Acquire).min(MAX_CHUNKS)
    }

    /// A block of `pages` pages at a multiple of `align` pages, which has no heap and no owner yet. None where the OS has no
    /// memory.
    pub fn claim(&self, bin: u8, cell_bytes: usize, pages: usize, align: usize) -> Option<&Block> {
        debug_assert!(pages <= MAX_BLOCK_PAGES);
        let wanted = Wanted {
            least: pages,
            most: pages,
            align: align.max(BLOCK_ALIGN),
        };
        let (chunk, run, dirty) = self.find(wanted).or_else(|| self.add_chunk(wanted))?;
        if !chunk.guards.set(chunk, run.clone()) {
            self.give_pages(chunk, run, 0..0);
            return None;
        }
        let slot = Chunk::slot(run.start);
        chunk.set_slots(run.clone(), slot);
        let block = chunk.block(slot);
        // What is one cell ends at the guard page.
        let start = match bin {
            SINGLE => chunk.start() + (run.end - GUARD_PAGES) * PAGE_BYTES - cell_bytes,
            _ => chunk.start() + run.start * PAGE_BYTES,
        };
        block.init(bin, cell_bytes, start, run);
        block.fresh.set(dirty == 0);
        self.counters.bin(block).claimed();
        Some(block)
    }

    /// A run in a chunk that there is, and how many of its pages are dirty: those before clean ones, as they cost no fault.
    fn find(&self, wanted: Wanted) -> Option<(&'static Chunk, Range<usize>, usize)> {
        if self.dirty_pages.load(Relaxed) >= wanted.least {
            if let Some(found) = self.find_in(Source::Dirty, wanted) {
                return Some(found);
            }
        }
        self.find_in(Source::Any, wanted)
    }

    fn find_in(
        &self,
        source: Source,
        wanted: Wanted,
    ) -> Option<(&'static Chunk, Range<usize>, usize)> {
        let shortest = wanted.align == BLOCK_ALIGN && wanted.least <= super::chunk::MIN_BLOCK_PAGES;
        for word in 0..self.len().div_ceil(64) {
            let mut bits = self.room[word].load(Relaxed);
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                bits &= bits - 1;
                let Some(chunk) = self.chunk(word * 64 + bit.trailing_zeros() as usize) else {
                    continue;
                };
                let mut claimed = chunk.pages.claim(source, wanted);
                if claimed.is_none() && shortest && source == Source::Any {
                    // Whoever gives pages back sets the bit after that: it is lost to nobody.
                    self.room[word].fetch_and(!bit, SeqCst);
                    fence(SeqCst);
                    claimed = chunk.pages.claim(source, wanted);
                    if claimed.is_some() {
                        self.note_room(chunk);
                    }
                } else if claimed.is_none() {
                    self.note_room(chunk);
                }
                if let Some(claimed) = claimed {
                    self.dirty_pages.fetch_sub(claimed.dirty, Relaxed);
                    return Some((chunk, claimed.pages, claimed.dirty));
                }
            }
        }
        None
    }

    /// Maps a chunk, and claims a run of it.
    fn add_chunk(&self, wanted: Wanted) -> Option<(&'static Chunk, Range<usize>, usize)> {
        let first = HEADER_PAGES.next_multiple_of(wanted.align);
        if first + wanted.least > CHUNK_PAGES {
            return None;
        }
        if let Some(chunk) = self.unpark() {
            let run = first..first + wanted.least;
            self.give_pages(chunk, run.end..run.end, HEADER_PAGES..run.start);
            self.give_pages(chunk, run.end..run.end, run.end..CHUNK_PAGES);
            return Some((chunk, run, 0));
        }
        if self.len.load(Relaxed) >= MAX_CHUNKS {
            return None;
        }
        let start = self.map(CHUNK_BYTES, CHUNK_BYTES)?;
        // SAFETY: the memory is mapped, zero, and stays.
        let chunk = unsafe { Chunk::at(start) };
        let index = self.len.fetch_add(1, AcqRel);
        if index >= MAX_CHUNKS {
            os::unmap(start, CHUNK_BYTES);
            return None;
        }
        chunk.index.set(index);
        chunk.begin();
        let run = first..first + wanted.least;
        chunk.pages.give(HEADER_PAGES..run.start, false);
        chunk.pages.give(run.end..CHUNK_PAGES, false);
        self.chunks[index].store(std::ptr::from_ref(chunk).cast_mut(), SeqCst);
        self.note_room(chunk);
        Some((chunk, run, 0))
    }

    /// As [`os::map`], but where addresses are short, those of free chunks go.
    pub fn map(&self, bytes: usize, align: usize) -> Option<usize> {
        os::map(bytes, align).or_else(|| {
            self.park();
            os::map(bytes, align)
        })
    }

    /// Unmaps the pages of all chunks that have no block. The headers stay, as other threads may be looking at them.
    fn park(&self) {
        for chunk in (0..self.len()).filter_map(|index| self.chunk(index)) {
            self.holding(|| self.park_chunk(chunk));
        }
    }

    fn park_chunk(&self, chunk: &Chunk) {
        let pages = HEADER_PAGES..CHUNK_PAGES;
        if self.claim_exactly(chunk, pages.clone()).is_none() {
            return;
        }
        let (start, bytes) = chunk.block_pages();
        if os::unmap(start, bytes) {
            chunk.guards.forget();
            chunk.parked.store(true, Release);
            self.parked.fetch_add(1, Relaxed);
        } else {
            // To unmap what lies in the midst of a mapping takes another one.
            self.give_pages(chunk, pages, 0..0);
        }
    }

    /// Does what claims free pages, and gives them back or parks them before it ends.
    fn holding<T>(&self, action: impl FnOnce() -> T) -> T {
        self.holders.fetch_add(1, AcqRel);
        let done = action();
        self.holders.fetch_sub(1, AcqRel);
        done
    }

    /// What `attempt` finds, where there is no memory but what other threads may hold for a moment.
    pub fn patiently<T>(&self, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
        for _ in 0..PATIENCE {
            let is_held = self.holders.load(Acquire) != 0;
            let found = attempt();
            if found.is_some() || !is_held && self.holders.load(Acquire) == 0 {
                return found;
            }
            std::thread::yield_now();
        }
        None
    }

    /// In the child of a fork: the other threads are not there.
    pub fn forget_holders(&self) {
        self.holders.store(0, Relaxed);
    }

    /// Maps the pages of a parked chunk again, all of which the caller has claimed then.
    fn unpark(&self) -> Option<&'static Chunk> {
        if self.parked.load(Relaxed) == 0 {
            return None;
        }
        let mut chunks = (0..self.len()).filter_map(|index| self.chunk(index));
        let chunk = chunks.find(|chunk| Self::map_parked(chunk))?;
        self.parked.fetch_sub(1, Relaxed);
        Some(chunk)
    }

    /// Maps the pages of a chunk again, if it is parked. False where somebody else has mapped something there.
    fn map_parked(chunk: &Chunk) -> bool {
        if !chunk.parked.load(Relaxed) || !chunk.parked.swap(false, Acquire) {
            return false;
        }
        let (start, bytes) = chunk.block_pages();
        let mapped = os::map_at(start, bytes);
        if !mapped {
            chunk.parked.store(true, Release);
        }
        mapped
    }

    /// Gives the pages of a block back that nobody has a cell of.
    pub fn give(&self, block: &Block) {
        self.counters.bin(block).blocks.fetch_sub(1, Relaxed);
        let chunk = Chunk::of(block);
        let start = block.first_page.get() as usize;
        let end = start + block.pages.get() as usize;
        let touched = if block.fresh.get() && !block.is_single() {
            start + block.touched_bytes().div_ceil(PAGE_BYTES)
        } else {
            end
        };
        self.give_pages(chunk, start..touched, touched..end);
    }

    /// Gives pages of a chunk back, of which the latter are as the OS gave them. Without a delay the others go back to the OS first: nobody
    /// has to look for them.
    pub fn give_pages(&self, chunk: &Chunk, dirty: Range<usize>, clean: Range<usize>) {
        let at_once = options::reset_delay() == Some(0) && !dirty.is_empty();
        let is_clean = at_once && self.reset_claimed(chunk, dirty.clone(), dirty.len());
        if !is_clean {
            self.dirty_pages.fetch_add(dirty.len(), Relaxed);
        }
        chunk.pages.give(dirty, !is_clean);
        chunk.pages.give(clean, false);
        self.note_room(chunk);
        self.plan_reset();
    }

    /// Gives pages back to the OS that the caller has claimed, of which so many are dirty. False where the OS does not take them.
    fn reset_claimed(&self, chunk: &Chunk, pages: Range<usize>, dirty: usize) -> bool {
        let start = chunk.start() + pages.start * PAGE_BYTES;
        let reset = os::reset(start, pages.len() * PAGE_BYTES);
        if reset {
            self.counters.pages_reset.fetch_add(dirty, Relaxed);
        }
        reset
    }

    /// Says that a search may find pages in the chunk: after some were given back, or were not there for a moment.
    fn note_room(&self, chunk: &Chunk) {
        let index = chunk.index.get();
        let (room, bit) = (&self.room[index / 64], 1 << (index % 64));
        // Either this sees that a search has cleared the bit, or the search, which looks again after that, sees the pages.
        fence(SeqCst);
        if room.load(Relaxed) & bit == 0 {
            room.fetch_or(bit, SeqCst);
        }
    }

    /// Claims these pages of a chunk, to make a block longer. None if one of them is not free; otherwise how many are dirty.
    pub fn claim_exactly(&self, chunk: &Chunk, pages: Range<usize>) -> Option<usize> {
        if pages.end > CHUNK_PAGES {
            return None;
        }
        let Some(dirty) = chunk.pages.claim_exactly(pages) else {
            self.note_room(chunk);
            return None;
        };
        self.dirty_pages.fetch_sub(dirty, Relaxed);
        Some(dirty)
    }

    fn plan_reset(&self) {
        if self.dirty_pages() == 0 {
            return;
        }
        if let Some(delay) = options::reset_delay() {
            self.plan_reset_in(delay);
            self.reset_if_due();
        }
    }

    /// Without a delay, what is dirty still could not go at once: it is tried again a little later, as that looks at all chunks.
    fn plan_reset_in(&self, delay: u64) {
        if self.reset_at.load(Relaxed) == 0 {
            let at = os::milliseconds() + delay.max(1);
            let _ = self.reset_at.compare_exchange(0, at, AcqRel, Relaxed);
        }
    }

    /// Has dirty pages go back to the OS as the delay says that was set just now.
    pub fn delay_changed(&self) {
        self.reset_at.store(0, Relaxed);
        if options::reset_delay() == Some(0) {
            self.reset();
        }
        self.plan_reset();
    }

    /// Gives dirty pages back to the OS, if the delay is over.
    pub fn reset_if_due(&self) {
        let at = self.reset_at.load(Relaxed);
        let due = at != 0 && os::milliseconds() >= at;
        if due && self.reset_at.compare_exchange(at, 0, AcqRel, Relaxed) == Ok(at) && !self.reset()
        {
            // At once would be in the middle of what the others do.
            self.plan_reset_in(options::reset_delay().unwrap_or(0));
        }
    }

    /// Gives all dirty pages back to the OS. False if others were left that a thread has claimed a part of meanwhile.
    pub fn reset(&self) -> bool {
        let mut is_all = true;
        for chunk in (0..self.len()).filter_map(|index| self.chunk(index)) {
            for run in runs(&chunk.pages.dirty_pages()) {
                is_all &= self.holding(|| self.reset_run(chunk, run));
            }
        }
        is_all
    }

    /// Gives free pages of a chunk back to the OS, of which some are dirty. False if they are not free.
    fn reset_run(&self, chunk: &Chunk, run: Range<usize>) -> bool {
        let Some(dirty) = self.claim_exactly(chunk, run.clone()) else {
            return false;
        };
        let reset = self.reset_claimed(chunk, run.clone(), dirty);
        if !reset {
            self.dirty_pages.fetch_add(run.len(), Relaxed);
        }
        chunk.pages.give(run, !reset);
        self.note_room(chunk);
        true
    }

    /// Pages that are free, but may be held by the OS.
    pub fn dirty_pages(&self) -> usize {
        self.dirty_pages.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_hold_for_a_moment_is_waited_for() {
        let tries = |least| {
            let mut tries = 0;
            let found = ARENA.patiently(|| {
                tries += 1;
                (tries >= least).then_some(())
            });
            (found.is_some(), tries)
        };
        assert_eq!(ARENA.holding(|| tries(7)), (true, 7));
        assert_eq!(ARENA.holding(|| tries(usize::MAX)), (false, PATIENCE));
        ARENA.forget_holders();
        assert_eq!(tries(2), (false, 1), "nobody holds any");
    }
}
