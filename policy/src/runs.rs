// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of pages: the unit that changes hands between bins, large objects and the OS.
//!
//! Whoever needs a run searches the chunks from the lowest address on: dirty runs first, as to touch such a page
//! costs no page fault, and long ones before short ones. A run that is shorter than wanted comes before fresh
//! address space. What was last searched for in vain is remembered: between two collections no chunk is searched twice in a row for
//! the same.
//!
//! A heap may have *huge pages*, each in the place of 512 small ones: they spare the processor most of its misses of the
//! TLB. The first touch makes all of a huge page resident. So when nothing is left to claim but places that are wholly
//! free, one of them is *backed* by a huge page, and all of its pages are dirty from then on: they serve all bins and threads
//! before the next place is backed. A place of which pages went back to the OS has small pages until a thread needs them, see
//! `collapse`, or all of it is free.

use crate::config::Config;
use crate::directory::{Chunk, Page};
use crate::heap::Heap;
use crate::pages::{Claimed, Source, Wanted, CHUNK_PAGES, HUGE_PAGES};
use crate::purge::PageRange;
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Lengths of runs, in pages, for each of which it is remembered where a search may begin.
const LENGTHS: usize = 64;

/// Longer ones are in classes, each twice as long as the one before.
const LONG_CLASSES: usize = (CHUNK_PAGES / LENGTHS).ilog2() as usize;

/// What a search for a long run has found last, of one class: the length in pages, and the chunk below which there was no run that
/// long. Both are in one word, the length in the low bits.
#[derive(Debug, Default)]
struct LongSearch(AtomicUsize);

impl LongSearch {
    const LENGTH_BITS: u32 = CHUNK_PAGES.ilog2() + 1;

    fn pack(pages: usize, below: usize) -> usize {
        below << Self::LENGTH_BITS | pages
    }

    fn unpack(word: usize) -> (usize, usize) {
        (
            word & ((1 << Self::LENGTH_BITS) - 1),
            word >> Self::LENGTH_BITS,
        )
    }

    /// The chunk from which a run of `pages` pages has to be searched for.
    fn from(&self, pages: usize) -> usize {
        let (length, below) = Self::unpack(self.0.load(Relaxed));
        if length <= pages {
            below
        } else {
            0
        }
    }

    fn begin_at(&self, chunk: Chunk, pages: usize) {
        let lower = |word| {
            let (length, below) = Self::unpack(word);
            (length <= pages && below > chunk.0).then(|| Self::pack(length, chunk.0))
        };
        self.0.fetch_update(Relaxed, Relaxed, lower).ok();
    }
}

/// Below which chunks a search has found nothing. Of pages that come back while it looks, it may not know until a full
/// collection, or one that releases blocks of their chunk.
#[derive(Debug)]
pub(crate) struct Searched {
    /// By source and length in pages less one: no run that long.
    runs: [[AtomicUsize; LENGTHS]; 3],
    /// By source and class of length.
    long: [[LongSearch; LONG_CLASSES]; 3],
    /// No place of a huge page that is wholly free.
    places: AtomicUsize,
}

impl Default for Searched {
    fn default() -> Self {
        let lengths = || std::array::from_fn(|_| AtomicUsize::new(0));
        Searched {
            runs: std::array::from_fn(|_| lengths()),
            long: Default::default(),
            places: AtomicUsize::new(0),
        }
    }
}

impl Searched {
    fn long(&self, source: Source, pages: usize) -> &LongSearch {
        &self.long[source as usize][((pages - 1) / LENGTHS).ilog2() as usize]
    }

    /// The chunk from which a run of `pages` pages has to be searched for.
    fn from(&self, source: Source, pages: usize) -> usize {
        match self.runs[source as usize].get(pages - 1) {
            Some(below) => below.load(Relaxed),
            None => self.long(source, pages).from(pages),
        }
    }

    /// Notes that a search that began where it had to has found no run of `pages` pages below chunk `end`.
    fn note(&self, source: Source, pages: usize, end: usize) {
        match self.runs[source as usize].get(pages - 1) {
            Some(below) => {
                below.fetch_max(end, Relaxed);
            }
            None => {
                let word = LongSearch::pack(pages, end);
                self.long(source, pages).0.store(word, Relaxed);
            }
        }
    }

    /// Has searches come to `chunk` again, where a run of `pages` pages has become free. Together with its neighbours
    /// it may be longer, which the next collection that releases blocks of the chunk finds out.
    pub fn begin_at(&self, chunk: Chunk, pages: usize, dirty: bool) {
        let first = if dirty { Source::Dirty } else { Source::Split } as usize;
        let places = (pages >= HUGE_PAGES).then_some(&self.places);
        for below in self.runs[first..]
            .iter()
            .flat_map(|lengths| lengths.iter().take(pages))
            .chain(places)
        {
            if below.load(Relaxed) > chunk.0 {
                below.fetch_min(chunk.0, Relaxed);
            }
        }
        if pages > LENGTHS {
            let long = self.long[first..].iter().flatten();
            long.for_each(|search| search.begin_at(chunk, pages));
        }
    }

    /// Has all searches begin at the lowest chunk.
    pub fn reset(&self) {
        let long = self.long.iter().flatten().map(|search| &search.0);
        let all = self.runs.iter().flatten().chain(long).chain([&self.places]);
        all.for_each(|below| below.store(0, Relaxed));
    }
}

/// Backs the place of a huge page, nobody else's meanwhile, by a huge page.
pub(crate) type Back = Box<dyn Fn(PageRange) + Send + Sync>;

/// A run that the caller has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub pages: Range<Page>,
    /// Whether the OS may hold some of them.
    pub dirty: bool,
}

impl<C: Config> Heap<C> {
    /// Claims a run of `least` to `most` pages that lies in one chunk and begins at a multiple of `align` pages, which
    /// is the same for all runs of that length. None if a chunk has to be added; also where another thread holds the pages
    /// for a moment.
    pub(crate) fn claim(&self, least: usize, most: usize, align: usize) -> Option<Run> {
        let Some(back) = &self.huge_pages else {
            return self.claim_from([Source::Dirty, Source::Any], least, most, align);
        };
        loop {
            let run = self.claim_from([Source::Dirty, Source::Split], least, most, align);
            if let Some(mut run) = run {
                self.collapse_around(&mut run);
                return Some(run);
            }
            if !self.back_place(back) {
                return None;
            }
        }
    }

    fn claim_from(
        &self,
        sources: [Source; 2],
        least: usize,
        most: usize,
        align: usize,
    ) -> Option<Run> {
        sources.into_iter().find_map(|source| {
            let mut wanted = Wanted {
                least: most,
                most,
                align,
            };
            loop {
                let run = self.search(source, wanted);
                if run.is_some() || wanted.least == least {
                    return run;
                }
                wanted.least = (wanted.least / 2).max(least);
            }
        })
    }

    /// Claims a run of `pages` pages, which may go on in the next chunks. None if chunks have to be added.
    pub(crate) fn claim_across(&self, pages: usize) -> Option<Run> {
        let run = if pages <= HUGE_PAGES {
            self.claim(pages, pages, 1)
        } else if pages <= CHUNK_PAGES {
            self.claim_from([Source::Dirty, Source::Any], pages, pages, 1)
        } else {
            None
        };
        let run = run.or_else(|| self.search_across(pages))?;
        if let Some(back) = &self.huge_pages {
            self.back_within(&run.pages, back);
            if pages > HUGE_PAGES {
                self.note_broken_places(&run.pages);
            }
        }
        Some(run)
    }

    /// Has a huge page in a place that is wholly free: its pages are dirty then. Returns whether there was such a place.
    fn back_place(&self, back: &Back) -> bool {
        let from = self.searched.places.load(Relaxed);
        let end = self.directory.end();
        let found = (from..end).map(Chunk).find_map(|chunk| {
            let places = self.directory.find(chunk)?.pages.free_places();
            let clean = places.filter(|(place, dirty)| *dirty < place.len());
            Some((chunk, self.claim_place(chunk, clean)?))
        });
        let searched = found.as_ref().map_or(end, |(chunk, _)| chunk.0);
        self.searched.places.fetch_max(searched, Relaxed);
        let Some((_, place)) = found else {
            return false;
        };
        self.back(&place, back);
        self.give(place, true);
        true
    }

    /// Claims the first of these places of `chunk` that is still free.
    pub(crate) fn claim_place(
        &self,
        chunk: Chunk,
        mut places: impl Iterator<Item = (Range<usize>, usize)>,
    ) -> Option<Range<Page>> {
        let page = |page| self.directory.page(chunk, page);
        let claim = |place: Range<usize>| self.claim_exactly(page(place.start)..page(place.end));
        places.find_map(|(place, _)| Some(claim(place)?.pages))
    }

    /// Has huge pages in the places that lie wholly in `run`, which the caller has claimed, but for those of which the OS holds pages.
    fn back_within(&self, run: &Range<Page>, back: &Back) {
        let first = run.start.next_multiple_of(HUGE_PAGES);
        let end = run.end - run.end % HUGE_PAGES;
        for place in (first..end).step_by(HUGE_PAGES) {
            let pages = &self.directory.state(Chunk(place / CHUNK_PAGES)).pages;
            let in_chunk = place % CHUNK_PAGES;
            if pages.dirty_among(in_chunk..in_chunk + HUGE_PAGES) == 0 {
                self.back(&(place..place + HUGE_PAGES), back);
            }
        }
    }

    /// Has searches find what is left of the places of huge pages in which a claimed run begins and ends: they were passed over as
    /// wholly free ones.
    fn note_broken_places(&self, run: &Range<Page>) {
        for page in [run.start, run.end - 1] {
            let chunk = Chunk(page / CHUNK_PAGES);
            self.searched.begin_at(chunk, HUGE_PAGES - 1, false);
        }
    }

    fn back(&self, place: &Range<Page>, back: &Back) {
        back(self.range(place));
    }

    /// The addresses of these pages.
    pub(crate) fn range(&self, pages: &Range<Page>) -> PageRange {
        PageRange {
            start: self.directory.address(pages.start),
            pages: pages.len(),
        }
    }

    fn search(&self, source: Source, wanted: Wanted) -> Option<Run> {
        let from = self.searched.from(source, wanted.least);
        let end = self.directory.end();
        let found = (from..end).map(Chunk).find_map(|chunk| {
            let claimed = self.directory.find(chunk)?.pages.claim(source, wanted)?;
            Some((chunk, claimed))
        });
        let searched = found.as_ref().map_or(end, |(chunk, _)| chunk.0);
        if searched > from {
            self.searched.note(source, wanted.least, searched);
        }
        found.map(|(chunk, claimed)| self.claimed(chunk, claimed))
    }

    fn claimed(&self, chunk: Chunk, claimed: Claimed) -> Run {
        self.dirty_pages.fetch_sub(claimed.dirty, Relaxed);
        let page = |page| self.directory.page(chunk, page);
        Run {
            pages: page(claimed.pages.start)..page(claimed.pages.end),
            dirty: claimed.dirty != 0,
        }
    }

    /// Searches for a run that begins in one chunk and ends in another.
    fn search_across(&self, pages: usize) -> Option<Run> {
        let mut free = 0..0;
        for chunk in (0..self.directory.end()).map(Chunk) {
            let ends = self
                .directory
                .find(chunk)
                .map(|state| state.pages.free_ends());
            let (low, high) = ends.unwrap_or((0, 0));
            let base = self.directory.page(chunk, 0);
            free.end = base + low;
            if free.len() >= pages {
                let run = free.start..free.start + pages;
                if let Some(run) = self.claim_exactly(run) {
                    return Some(run);
                }
            }
            if low < CHUNK_PAGES {
                free = base + CHUNK_PAGES - high..base + CHUNK_PAGES;
            }
        }
        None
    }

    /// Claims these pages, if all of them are free.
    pub(crate) fn claim_exactly(&self, run: Range<Page>) -> Option<Run> {
        let mut dirty = 0;
        for (chunk, pages) in self.directory.parts(run.clone()) {
            let state = self.directory.find(chunk);
            let Some(part) = state.and_then(|state| state.pages.claim_exactly(pages.clone()))
            else {
                self.put_back(run.start..self.directory.page(chunk, pages.start));
                return None;
            };
            dirty += part;
        }
        self.dirty_pages.fetch_sub(dirty, Relaxed);
        Some(Run {
            pages: run,
            dirty: dirty != 0,
        })
    }

    /// Gives back pages that the caller has claimed, while none of them was counted off.
    fn put_back(&self, run: Range<Page>) {
        if !run.is_empty() {
            let (first, pages) = (Chunk(run.start / CHUNK_PAGES), run.len());
            for (chunk, pages) in self.directory.parts(run) {
                self.directory.state(chunk).pages.put_back(pages);
            }
            self.searched.begin_at(first, pages, true);
        }
    }

    /// Gives back pages that the caller has claimed; the OS may hold them if they are `dirty`.
    pub(crate) fn give(&self, run: Range<Page>, dirty: bool) {
        if !run.is_empty() {
            let (first, pages) = (Chunk(run.start / CHUNK_PAGES), run.len());
            if dirty {
                self.dirty_pages.fetch_add(pages, Relaxed);
            }
            self.give_in_pause(run, dirty);
            // Afterwards: the next search begins here again.
            self.searched.begin_at(first, pages, dirty);
        }
    }

    /// As [`Heap::give`], for a collection, which itself counts dirty pages, and says where searches begin after it.
    pub(crate) fn give_in_pause(&self, run: Range<Page>, dirty: bool) {
        for (chunk, pages) in self.directory.parts(run) {
            self.directory.state(chunk).pages.give(pages, dirty);
        }
    }

    /// Takes out a chunk whose pages are all free and clean, so that the embedder may use it otherwise. Returns
    /// whether it was one.
    pub fn remove_chunk(&self, chunk: Chunk) -> bool {
        let pages = &self.directory.state(chunk).pages;
        if pages.free_ends().0 < CHUNK_PAGES || pages.dirty_pages() != [0; CHUNK_PAGES / 64] {
            return false;
        }
        let base = self.directory.page(chunk, 0);
        match self.claim_exactly(base..base + CHUNK_PAGES) {
            None => false,
            Some(run) if run.dirty => {
                self.give(run.pages, true);
                false
            }
            Some(_) => {
                self.directory.remove(chunk);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Blocks64K, CHUNK_BYTES, PAGE_BYTES};
    use crate::MarkBits;
    use proptest::prelude::*;

    const CHUNKS: usize = 6;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 256 }))]

        /// A search that begins where it is told finds the lowest chunk with a run long enough, as one that begins at the first.
        #[test]
        fn no_chunk_is_missed(steps in prop::collection::vec((0..CHUNKS, 1..=CHUNK_PAGES, 0..3usize), 1..200)) {
            let searched = Searched::default();
            let mut longest = [0; CHUNKS];
            for (chunk, pages, step) in steps {
                match step {
                    0 => {
                        longest[chunk] = longest[chunk].max(pages);
                        searched.begin_at(Chunk(chunk), pages, true);
                    }
                    1 => longest[chunk] = 0,
                    _ => {
                        let from = searched.from(Source::Dirty, pages);
                        let first = |from: usize| (from..CHUNKS).find(|&chunk| longest[chunk] >= pages);
                        prop_assert_eq!(first(from), first(0));
                        searched.note(Source::Dirty, pages, first(0).unwrap_or(CHUNKS));
                    }
                }
            }
        }
    }

    /// A page that the OS holds keeps a huge page from its own place alone.
    #[test]
    fn clean_places_of_a_large_object_are_backed() {
        let base = 16 * CHUNK_BYTES;
        let bits = vec![0u8; 2 * CHUNK_BYTES / 64].leak();
        // SAFETY: the bits are those of the chunks, and never freed.
        let marks = unsafe { MarkBits::new(bits.as_mut_ptr().expose_provenance(), base) };
        let (backed, places) = std::sync::mpsc::channel();
        let back = move |place: PageRange| backed.send((place.start - base) / PAGE_BYTES).unwrap();
        let heap =
            Heap::<Blocks64K>::new(base..base + 2 * CHUNK_BYTES, marks).with_huge_pages(back);
        for chunk in [base, base + CHUNK_BYTES] {
            // SAFETY: nothing reads or writes the chunk.
            unsafe { heap.add_chunk(chunk) };
        }
        heap.claim_exactly(5..6).unwrap();
        heap.give(5..6, true);
        let run = heap.claim_across(CHUNK_PAGES + HUGE_PAGES + 1).unwrap();
        assert_eq!((run.pages.start, run.dirty), (0, true));
        assert_eq!(
            places.try_iter().collect::<Vec<_>>(),
            [HUGE_PAGES, CHUNK_PAGES]
        );
        assert_eq!(heap.dirty_pages(), 0);
    }

    #[test]
    fn a_long_search_begins_where_the_last_one_of_its_class_ended() {
        let searched = Searched::default();
        searched.note(Source::Any, 75, 5);
        let from = [70, 75, 128, 129].map(|pages| searched.from(Source::Any, pages));
        assert_eq!(from, [0, 5, 5, 0]);
        searched.begin_at(Chunk(3), 74, false);
        assert_eq!(searched.from(Source::Any, 75), 5);
        searched.begin_at(Chunk(3), 75, false);
        assert_eq!(searched.from(Source::Any, 75), 3);
        searched.reset();
        assert_eq!(searched.from(Source::Any, 75), 0);
    }
}
