// SPDX-License-Identifier: MIT OR Apache-2.0
//! Huge pages again where pages are in use.
//!
//! When some pages of a huge page go back to the OS, it has small pages for the others, with the objects on them. A thread that claims
//! such clean pages would fault each in. The OS takes about as long to copy what the place holds to a huge page, which also spares
//! the processor misses of the TLB wherever the objects of the place are read. So the first claim has it do that.

use crate::config::Config;
use crate::directory::{Chunk, Page};
use crate::heap::Heap;
use crate::pages::{runs, CHUNK_PAGES, HUGE_PAGES};
use crate::purge::PageRange;
use crate::runs::Run;
use crate::sync::{Mutex, MutexGuard};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// What makes a huge page of a place of which pages are in use.
pub(crate) struct Collapser {
    collapse: Box<dyn Fn(PageRange) -> bool + Send + Sync>,
    /// Whether the OS has refused none since the last collection.
    works: AtomicBool,
    /// Locked while a place becomes resident, and while pages go back to the OS. If both worked on one place at a time, the dirty bits of
    /// its pages would be wrong.
    resident: Mutex<()>,
}

impl Collapser {
    pub fn new(collapse: impl Fn(PageRange) -> bool + Send + Sync + 'static) -> Self {
        Collapser {
            collapse: Box::new(collapse),
            works: AtomicBool::new(true),
            resident: Mutex::new(()),
        }
    }

    /// Has the OS asked again, though it may have refused.
    pub fn reset(&self) {
        self.works.store(true, Relaxed);
    }

    /// Has no place made resident meanwhile.
    pub fn lock(&self) -> MutexGuard<'_, ()> {
        self.resident.lock().unwrap()
    }
}

impl<C: Config> Heap<C> {
    /// Has huge pages in the places that `run`, which the caller has claimed, lies in, if it is clean. It is dirty then, and so are all
    /// free pages of the places. Waits for no other thread: while one is busy so, others go on with small pages. Those may be of the
    /// place that becomes resident: so they count as dirty, too.
    pub(crate) fn collapse_around(&self, run: &mut Run) {
        let is_due = |collapser: &&Collapser| !run.dirty && collapser.works.load(Relaxed);
        let Some(collapser) = self.collapser.as_ref().filter(is_due) else {
            return;
        };
        let Ok(_lock) = collapser.resident.try_lock() else {
            run.dirty = true;
            return;
        };
        // Since it was asked the OS may have refused: from then on others take clean pages without a look at the lock.
        if !collapser.works.load(Relaxed) {
            return;
        }
        let first = run.pages.start - run.pages.start % HUGE_PAGES;
        for place in (first..run.pages.end).step_by(HUGE_PAGES) {
            if !self.collapse(place..place + HUGE_PAGES, collapser) {
                break;
            }
            run.dirty = true;
        }
    }

    /// Returns whether there is a huge page now.
    fn collapse(&self, place: Range<Page>, collapser: &Collapser) -> bool {
        let free = self.claim_clean(place.clone());
        let is_huge = (collapser.collapse)(self.range(&place));
        if is_huge {
            self.note_resident(&place);
        } else {
            collapser.works.store(false, Relaxed);
        }
        for run in free {
            self.give(run.pages, is_huge || run.dirty);
        }
        is_huge
    }

    /// Claims the free pages in `place`, that of a huge page, which the OS does not hold; and a few others, which have become dirty
    /// meanwhile.
    fn claim_clean(&self, place: Range<Page>) -> Vec<Run> {
        let chunk = Chunk(place.start / CHUNK_PAGES);
        let first = self.directory.page(chunk, 0);
        let pages = place.start - first..place.end - first;
        let clean = self.directory.state(chunk).pages.clean_pages_in(pages);
        runs(&clean)
            .map(|run| first + run.start..first + run.end)
            .flat_map(|run| match self.claim_exactly(run.clone()) {
                Some(whole) => vec![whole],
                // Another thread has claimed some of them meanwhile.
                None => run
                    .filter_map(|page| self.claim_exactly(page..page + 1))
                    .collect(),
            })
            .collect()
    }

    /// Notes that the OS holds all pages of `place`, those that blocks have not opened among them.
    fn note_resident(&self, place: &Range<Page>) {
        let chunk = Chunk(place.start / CHUNK_PAGES);
        for (page, block) in self.directory.blocks_in(chunk) {
            if page < place.end && page + block.pages() > place.start {
                block.note_dirty();
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::config::{Blocks64K, CHUNK_BYTES};
    use crate::{Bin, Heads, Local, MarkBits, Refill, Sharing};
    use std::sync::atomic::AtomicUsize;
    use std::sync::Arc;

    /// A heap with one huge page, of which all but one page have gone back to the OS, and how often it was asked for another. It gets
    /// one from the call on that has this number.
    fn split_heap(from: usize) -> (Heap<Blocks64K>, Arc<AtomicUsize>) {
        let base = 16 * CHUNK_BYTES;
        let bits = vec![0u8; CHUNK_BYTES / 64].leak();
        // SAFETY: the bits are those of the chunk, and never freed.
        let marks = unsafe { MarkBits::new(bits.as_mut_ptr().expose_provenance(), base) };
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let heap = Heap::new(base..base + CHUNK_BYTES, marks).with_huge_pages(|_| ());
        let heap = heap.with_collapse(move |_| count.fetch_add(1, Relaxed) >= from);
        // SAFETY: nothing reads or writes the chunk: cells are bumped, and no collection runs.
        unsafe { heap.add_chunk(base) };
        assert!(block_of(&heap, 16).is_dirty());
        heap.purge(|_| ()).for_each(drop);
        assert_eq!(heap.dirty_pages(), 0);
        (heap, asked)
    }

    /// The block that a thread gets for a cell of so many bytes.
    fn block_of(heap: &Heap<Blocks64K>, bytes: usize) -> &crate::Block {
        let (mut local, mut heads) = (Local::default(), Heads::default());
        let bin = Bin::holding(bytes);
        loop {
            match local.refill(&mut heads, heap, bin, Sharing::Exclusive) {
                Refill::Cell(_) => return heap.block(local.current[bin.index()]),
                Refill::Charge { least, .. } => local.credit(least),
                Refill::Chunks(_) => unreachable!("there is a chunk"),
            }
        }
    }

    #[test]
    fn the_first_clean_claim_makes_all_of_the_place_dirty() {
        let (heap, asked) = split_heap(0);
        assert!(block_of(&heap, 32).is_dirty());
        assert_eq!(heap.dirty_pages(), HUGE_PAGES - 2);
        assert!(block_of(&heap, 64).is_dirty());
        assert_eq!(asked.load(Relaxed), 1);
    }

    #[test]
    fn a_refusal_leaves_small_pages_until_the_next_collection() {
        let (heap, asked) = split_heap(usize::MAX);
        assert!(!block_of(&heap, 32).is_dirty());
        assert!(!block_of(&heap, 64).is_dirty());
        assert_eq!((heap.dirty_pages(), asked.load(Relaxed)), (0, 1));
        heap.begin_release(crate::Scope::Young);
        assert!(!block_of(&heap, 128).is_dirty());
        assert_eq!(asked.load(Relaxed), 2);
    }

    #[test]
    fn clean_pages_of_other_threads_blocks_become_dirty_too() {
        let (heap, asked) = split_heap(1);
        let other = block_of(&heap, 32);
        assert_eq!((other.is_dirty(), asked.load(Relaxed)), (false, 1));
        heap.begin_release(crate::Scope::Young);
        assert!(block_of(&heap, 64).is_dirty());
        assert!(other.is_dirty());
    }

    #[test]
    fn what_is_claimed_while_a_place_becomes_resident_counts_as_dirty() {
        let (heap, asked) = split_heap(0);
        let _lock = heap.collapser.as_ref().map(Collapser::lock);
        assert!(block_of(&heap, 32).is_dirty());
        assert_eq!(asked.load(Relaxed), 0);
    }
}
