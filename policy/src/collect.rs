// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a collection: which blocks and pages are live.
//!
//! With all threads stopped and marking done, the embedder
//! 1. calls [`Heap::begin_release`], and [`Local::release`](crate::Local::release) for every thread,
//! 2. after `begin_release` calls [`Heap::release_chunks`] for every chunk, some at a time, in parallel if it likes, and
//!    uncharges what they report,
//! 3. lets the threads go on, and takes from [`Heap::purge`] while they do.
//!
//! Threads may be released before or after chunks. Steps 1 and 2 touch no cell and take time by the number of
//! blocks in use, and of pages with a live cell; what takes time by the number of free pages is the third.

use crate::block::{Block, Liveness, State};
use crate::config::{Accounting, Config, LOG_PAGE_BYTES};
use crate::directory::{Chunk, Page};
use crate::heap::Heap;
use crate::pages::CHUNK_PAGES;
use crate::size_class::{Bin, MAX_BINS};
use crate::stack::Chain;
use std::ops::{AddAssign, Range};
use std::sync::atomic::Ordering::Relaxed;

/// Which blocks a collection releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All.
    Full,
    /// Those from which cells were handed out since the last collection. Mark bits were kept, and objects marked that
    /// have none: sticky mark bits (A. Demers et al., "Combining Generational and Conservative Garbage Collection", POPL 1990).
    Young,
}

/// What the release of some chunks found; add those of all chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// Pages that were charged and have been made free: to be uncharged by the embedder.
    pub uncharged_pages: usize,
    /// Pages that remain charged.
    pub charged_pages: usize,
    /// Cells that hold a live object, and large objects.
    pub live_cells: usize,
    /// Bytes in those cells, and in the pages of those large objects.
    pub live_bytes: usize,
    /// Bytes in cells of the released blocks that the collection before had found live.
    pub former_live_bytes: usize,
}

impl Released {
    fn add_survivor(&mut self, block: &Block) {
        self.charged_pages += block.charged_pages();
        self.live_cells += block.live_cells() as usize;
        self.live_bytes += block.live_bytes();
    }
}

impl AddAssign for Released {
    fn add_assign(&mut self, other: Released) {
        self.uncharged_pages += other.uncharged_pages;
        self.charged_pages += other.charged_pages;
        self.live_cells += other.live_cells;
        self.live_bytes += other.live_bytes;
        self.former_live_bytes += other.former_live_bytes;
    }
}

/// The release of some chunks: what all threads share is touched once, at its end.
struct Release {
    released: Released,
    /// By bin, survivors that may have free cells.
    reusable: [Chain; MAX_BINS],
    /// Pages that became free and that the OS may hold.
    dirty_pages: usize,
    /// The lowest chunk in which a block was released.
    lowest: Option<Chunk>,
}

impl<C: Config> Heap<C> {
    /// Marks the cell or the large object at `cell`, while others may mark too, and notes it. Returns whether it was not marked before: of
    /// several threads, one is told so. Orders nothing.
    ///
    /// # Safety
    /// The cell must be in the heap's range, on a chunk that was added.
    #[inline(always)]
    pub unsafe fn mark(&self, cell: usize) -> bool {
        let is_new = self.marks.mark(cell);
        if is_new {
            // SAFETY: the caller promises what is needed.
            unsafe { self.note_marked(cell) };
        }
        is_new
    }

    /// Notes that the cell or the large object at `cell`, in this heap, has been marked. Must be called for each before
    /// the release of its chunk, by any thread: mark bits of other pages are not looked at. That is what
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

    /// Before marking, the addresses of the pages of `chunk` on which cells have been marked: their bits,
    /// and no others, have to be cleared. Forgets them.
    pub fn forget_marked(&self, chunk: Chunk) -> impl Iterator<Item = usize> + '_ {
        let start = self.directory.start(chunk);
        let marked = self.directory.marked(chunk).iter().enumerate();
        marked
            .filter(|(_, marked)| marked.load(Relaxed))
            .map(move |(page, marked)| {
                marked.store(false, Relaxed);
                start + (page << LOG_PAGE_BYTES)
            })
    }

    /// Empties the pools of blocks that are about to be released; [`Heap::release_chunks`] fills them again.
    pub fn begin_release(&self, scope: Scope) {
        if let Some(collapser) = &self.collapser {
            collapser.reset();
        }
        if scope == Scope::Full {
            self.searched.reset();
        }
        self.abandoned.iter().for_each(|pool| pool.clear());
        self.growing.iter().for_each(|pool| pool.clear());
        if scope == Scope::Full {
            self.pools.iter().for_each(|pool| pool.clear());
        }
    }

    /// Finds the live blocks and pages of `chunks` from the mark bits, makes free the pages that no live cell overlaps
    /// (blocks without one, if blocks are charged as a whole), and puts blocks with free cells into the pools.
    /// Different chunks may be released by different threads at the same time; of two chunks in one call, blocks
    /// of the later come out of the pools first.
    pub fn release_chunks(&self, chunks: &[Chunk], scope: Scope) -> Released {
        let mut release = Release {
            released: Released::default(),
            reusable: [Chain::default(); MAX_BINS],
            dirty_pages: 0,
            lowest: None,
        };
        for &chunk in chunks {
            let starts = self.directory.state(chunk).take_starts(scope);
            for (page, block) in self.directory.blocks_at(chunk, starts) {
                release.released.uncharged_pages += block.charged_pages();
                release.released.former_live_bytes += block.live_bytes();
                match block.state() {
                    State::Large => self.release_large(page, block, &mut release),
                    _ => self.release_block(chunk, page, block, &mut release),
                }
            }
            if starts.iter().any(|&word| word != 0) {
                let lowest = release
                    .lowest
                    .map_or(chunk.0, |lowest| lowest.0.min(chunk.0));
                release.lowest = Some(Chunk(lowest));
            }
        }
        self.end_release(release, scope)
    }

    /// Tells all threads of what was released.
    fn end_release(&self, release: Release, scope: Scope) -> Released {
        let mut released = release.released;
        released.uncharged_pages -= released.charged_pages;
        self.dirty_pages.fetch_add(release.dirty_pages, Relaxed);
        for bin in (0..C::BINS).map(Bin::from_index) {
            self.pools[bin.index()].push(&self.directory, release.reusable[bin.index()]);
        }
        // After a full one all searches begin at the lowest chunk.
        if let Some(lowest) = release.lowest.filter(|_| scope == Scope::Young) {
            self.searched.begin_at(lowest, CHUNK_PAGES, true);
        }
        released
    }

    /// Makes pages free that the OS may hold if they are `dirty`.
    fn make_free(&self, run: Range<Page>, dirty: bool, release: &mut Release) {
        if !run.is_empty() {
            release.dirty_pages += if dirty { run.len() } else { 0 };
            self.give_in_pause(run, dirty);
        }
    }

    fn release_large(&self, page: Page, object: &Block, release: &mut Release) {
        // SAFETY: the object is in the range.
        let noted = unsafe { self.directory.marked_at(object.start()) }.load(Relaxed);
        if noted && self.marks.is_marked(object.start()) {
            object.note_live_object();
            self.note_old(object.start());
            release.released.add_survivor(object);
        } else {
            self.forget_block(page);
            self.make_free(page..page + object.pages(), true, release);
        }
    }

    fn release_block(&self, chunk: Chunk, page: Page, block: &Block, release: &mut Release) {
        let in_chunk = page - self.directory.page(chunk, 0);
        let marked = &self.directory.marked(chunk)[in_chunk..][..block.opened()];
        let live = if marked.iter().any(|page| page.load(Relaxed)) {
            let pages = marked
                .iter()
                .enumerate()
                .filter(|(_, page)| page.load(Relaxed));
            block.liveness(pages.map(|(page, _)| page), &self.marks)
        } else {
            Liveness::NONE
        };
        let (pages, opened, dirty) = (block.pages(), block.opened(), block.is_dirty());
        let was_current = block.state() == State::Current;
        let keep = match C::ACCOUNTING {
            Accounting::Block if live.pages != 0 => u64::MAX >> (64 - opened),
            _ => live.pages,
        };
        if keep & 1 == 0 {
            self.forget_block(page);
        }
        self.make_free(page + opened..page + pages, dirty, release);
        // From the back, as the survivor at the front takes over the header that all are made of.
        let mut end = opened;
        for run in runs_from_back(keep) {
            self.make_free(page + run.end..page + end, true, release);
            end = run.start;
            let first = page + run.start;
            let survivor = self.directory.header(first);
            let cells = live.cells(run.clone());
            block.survive(survivor, run, cells);
            if first != page {
                self.directory.set_start(first);
            }
            for page in first..first + survivor.pages() {
                self.note_old(self.directory.address(page));
            }
            if survivor.capacity() == cells {
                survivor.set_state(State::Full);
            } else if was_current && first == page {
                survivor.set_state(State::Kept);
                // If the thread does not come for it, the next collection, of any scope, gives it to all.
                self.directory.set_young(page);
            } else {
                survivor.set_state(State::Pooled);
                release.reusable[survivor.bin().index()]
                    .push(&self.directory, self.directory.link_to(first));
            }
            release.released.add_survivor(survivor);
        }
        self.make_free(page..page + end, true, release);
    }
}

impl<C: Config> Heap<C> {
    /// Makes the marked objects that begin on the page at `page` old ones, and no others on it, if this collection makes any.
    fn note_old(&self, page: usize) {
        if let Some(old) = self.old.as_ref().filter(|_| self.makes_old()) {
            // SAFETY: threads are stopped, and each page is one collector thread's.
            unsafe { self.marks.copy_page(page, old) };
        }
    }
}

/// The longest runs of ones in `set`, highest first.
fn runs_from_back(mut set: u64) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || {
        let end = 64 - set.leading_zeros() as usize;
        // All zeros above the run are shifted out.
        let len = set.checked_shl(64 - end as u32)?.leading_ones() as usize;
        let start = end - len;
        set &= (1 << start) - 1;
        Some(start..end)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn runs_come_from_the_back() {
        let runs = |set| runs_from_back(set).collect::<Vec<_>>();
        assert_eq!(runs(0), []);
        assert_eq!(runs(0b1011_1001), [7..8, 3..6, 0..1]);
        assert_eq!(runs(u64::MAX), [0..64]);
        assert_eq!(runs(1 << 63), [63..64]);
    }
}
