// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which pages of a chunk are free, and which of those the OS may still hold: two bitmaps, from which any thread
//! claims runs of adjacent pages without a lock, as mimalloc claims from the bitmap of an arena (its `bitmap.c`).
//!
//! A run has no header and is on no list. So runs that are given back beside each other are one longer run at
//! once. A page whose bit is clear belongs to whoever claimed it.

use crate::config::{CHUNK_BYTES, HUGE_PAGE_BYTES, PAGE_BYTES};
use crate::marks::ones;
use crate::sync::AtomicU64;
use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// OS pages in a chunk.
pub const CHUNK_PAGES: usize = CHUNK_BYTES / PAGE_BYTES;
/// OS pages in the place of a huge page.
pub const HUGE_PAGES: usize = HUGE_PAGE_BYTES / PAGE_BYTES;
const WORDS: usize = CHUNK_PAGES / 64;
const HUGE_PAGE_WORDS: usize = HUGE_PAGES / 64;

/// A set of pages of one chunk, lowest page first.
pub type PageSet = [u64; WORDS];

/// Which free pages a claim may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Those alone that the OS may still hold: to touch them costs no page fault.
    Dirty,
    /// Those in the places of huge pages of which other pages are in use.
    Split,
    /// All.
    Any,
}

/// How long the claimed run is to be, in pages.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// A shorter run is of no use. At least 1.
    pub least: usize,
    /// Of a longer run, the lowest pages are taken.
    pub most: usize,
    /// The run begins at a multiple of this.
    pub align: usize,
}

/// A claimed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Its pages, as numbers in the chunk.
    pub pages: Range<usize>,
    /// How many of them may be held by the OS.
    pub dirty: usize,
}

/// The free pages of a chunk. All clear is a chunk without a free page.
#[derive(Debug)]
pub struct Pages {
    free: [AtomicU64; WORDS],
    /// Pages that the OS may hold. Those that are claimed have the bit that they had when they were free.
    dirty: [AtomicU64; WORDS],
}

impl Default for Pages {
    fn default() -> Self {
        Pages {
            free: std::array::from_fn(|_| AtomicU64::new(0)),
            dirty: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl Pages {
    /// Claims the lowest run that fits. None if there is no such run, or if others claim and give back pages so
    /// fast that one is missed.
    pub fn claim(&self, source: Source, wanted: Wanted) -> Option<Claimed> {
        debug_assert!(wanted.least >= 1 && wanted.least <= wanted.most);
        loop {
            let candidates = match source {
                Source::Dirty => self.dirty_pages(),
                Source::Split => self.split_pages(),
                Source::Any => self.free_pages(),
            };
            let fits = |run: Range<usize>| fit(run, wanted);
            let pages = runs(&candidates).find_map(fits)?;
            if let Some(dirty) = self.claim_exactly(pages.clone()) {
                return Some(Claimed { pages, dirty });
            }
        }
    }

    /// Claims these pages, and returns how many of them may be held by the OS. None if one of them is not free.
    pub fn claim_exactly(&self, pages: Range<usize>) -> Option<usize> {
        for (word, mask) in masks(pages.clone()) {
            let free = self.free[word].fetch_and(!mask, Acquire) & mask;
            if free != mask {
                // Others have some of them: what was taken goes back.
                self.free[word].fetch_or(free, Release);
                self.put_back(pages.start..(word * 64).max(pages.start));
                return None;
            }
        }
        Some(self.dirty_among(pages))
    }

    /// Gives back pages that the caller has claimed and not used.
    pub fn put_back(&self, pages: Range<usize>) {
        for (word, mask) in masks(pages) {
            let free = self.free[word].fetch_or(mask, Release);
            debug_assert_eq!(free & mask, 0, "a page is given back that is free");
        }
    }

    /// Gives back pages that the caller has claimed; the OS may hold them if they are `dirty`.
    pub fn give(&self, pages: Range<usize>, dirty: bool) {
        for (word, mask) in masks(pages.clone()) {
            let now = self.dirty[word].load(Relaxed) & mask;
            if dirty && now != mask {
                self.dirty[word].fetch_or(mask, Relaxed);
            } else if !dirty && now != 0 {
                self.dirty[word].fetch_and(!mask, Relaxed);
            }
        }
        self.put_back(pages);
    }

    /// How many of these pages, which the caller has claimed and not given back, the OS held when they were claimed.
    pub fn dirty_among(&self, pages: Range<usize>) -> usize {
        let dirty = |(word, mask): (usize, u64)| self.dirty[word].load(Relaxed) & mask;
        masks(pages)
            .map(|word| dirty(word).count_ones() as usize)
            .sum()
    }

    /// The pages that are free now.
    pub fn free_pages(&self) -> PageSet {
        std::array::from_fn(|word| self.free[word].load(Relaxed))
    }

    /// The free pages that the OS may hold now.
    pub fn dirty_pages(&self) -> PageSet {
        // A page becomes dirty shortly before it becomes free.
        std::array::from_fn(|word| self.dirty[word].load(Relaxed) & self.free[word].load(Relaxed))
    }

    /// The free pages but for those of wholly free places of huge pages.
    fn split_pages(&self) -> PageSet {
        let mut free = self.free_pages();
        for place in free.chunks_exact_mut(HUGE_PAGE_WORDS) {
            if is_full(place) {
                place.fill(0);
            }
        }
        free
    }

    /// The wholly free places of huge pages, lowest first, each with how many of its pages the OS may hold.
    pub fn free_places(&self) -> impl DoubleEndedIterator<Item = (Range<usize>, usize)> {
        let (free, dirty) = (self.free_pages(), self.dirty_pages());
        (0..WORDS / HUGE_PAGE_WORDS).filter_map(move |place| {
            let words = place * HUGE_PAGE_WORDS..(place + 1) * HUGE_PAGE_WORDS;
            let pages = words.start * 64..words.end * 64;
            let dirty = dirty[words.clone()].iter();
            let dirty: u32 = dirty.map(|word| word.count_ones()).sum();
            is_full(&free[words]).then_some((pages, dirty as usize))
        })
    }

    /// The free pages in `place`, that of a huge page, which the OS does not hold.
    pub fn clean_pages_in(&self, place: Range<usize>) -> PageSet {
        let (free, dirty) = (self.free_pages(), self.dirty_pages());
        let mut clean = [0; WORDS];
        for (word, mask) in masks(place) {
            clean[word] = free[word] & !dirty[word] & mask;
        }
        clean
    }

    /// Number of free pages from the lowest page on, and down from the highest.
    pub fn free_ends(&self) -> (usize, usize) {
        let free = self.free_pages();
        let low = free.iter().position(|&word| word != u64::MAX);
        let high = free.iter().rposition(|&word| word != u64::MAX);
        match (low, high) {
            (Some(low), Some(high)) => (
                low * 64 + free[low].trailing_ones() as usize,
                (WORDS - 1 - high) * 64 + free[high].leading_ones() as usize,
            ),
            _ => (CHUNK_PAGES, CHUNK_PAGES),
        }
    }
}

fn is_full(words: &[u64]) -> bool {
    words.iter().all(|&word| word == u64::MAX)
}

/// The part of a free run that a claim takes.
fn fit(run: Range<usize>, wanted: Wanted) -> Option<Range<usize>> {
    let start = run.start.next_multiple_of(wanted.align);
    let pages = run.end.checked_sub(start)?;
    (pages >= wanted.least).then(|| start..start + pages.min(wanted.most))
}

/// The pages in a set, lowest first.
pub fn ones_of(set: PageSet) -> impl Iterator<Item = usize> {
    let word = |(word, bits): (usize, u64)| ones(bits).map(move |bit| word * 64 + bit);
    set.into_iter().enumerate().flat_map(word)
}

/// The longest runs of adjacent pages in a set, lowest first.
pub fn runs(set: &PageSet) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = next(set, from, 0)?;
        from = next(set, start, u64::MAX).unwrap_or(CHUNK_PAGES);
        Some(start..from)
    })
}

/// The first page from `from` on whose bit differs from those of `than`, which are all the same.
fn next(set: &PageSet, from: usize, than: u64) -> Option<usize> {
    let first = from / 64;
    let differs = |word: usize| {
        let from = if word == first { from % 64 } else { 0 };
        let bits = (set[word] ^ than) & (u64::MAX << from);
        (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
    };
    (first..WORDS).find_map(differs)
}

/// The words in which `pages` lie, each with the bits of those in it.
fn masks(pages: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    debug_assert!(pages.end <= CHUNK_PAGES);
    let words = pages.start / 64..pages.end.div_ceil(64);
    let words = if pages.is_empty() { 0..0 } else { words };
    words.map(move |word| {
        let low = pages.start.max(word * 64) % 64;
        let count = pages.end.min(word * 64 + 64) - pages.start.max(word * 64);
        (word, (u64::MAX >> (64 - count)) << low)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exactly(pages: usize) -> Wanted {
        Wanted {
            least: pages,
            most: pages,
            align: 1,
        }
    }

    fn pages_of(chunk: &Pages, source: Source, wanted: Wanted) -> Option<Range<usize>> {
        chunk.claim(source, wanted).map(|claimed| claimed.pages)
    }

    #[test]
    fn the_lowest_run_that_fits_is_claimed() {
        let chunk = Pages::default();
        assert_eq!(pages_of(&chunk, Source::Any, exactly(1)), None);
        chunk.give(10..13, false);
        chunk.give(60..140, false);
        assert_eq!(pages_of(&chunk, Source::Any, exactly(4)), Some(60..64));
        assert_eq!(pages_of(&chunk, Source::Any, exactly(3)), Some(10..13));
        let some = Wanted {
            least: 2,
            most: 100,
            align: 16,
        };
        assert_eq!(pages_of(&chunk, Source::Any, some), Some(64..140));
        assert_eq!(chunk.free_pages(), [0; WORDS]);
    }

    #[test]
    fn dirty_pages_are_counted_when_they_are_claimed() {
        let chunk = Pages::default();
        chunk.give(0..64, false);
        chunk.give(64..72, true);
        assert_eq!(pages_of(&chunk, Source::Dirty, exactly(9)), None);
        let claimed = chunk.claim(Source::Any, exactly(66)).unwrap();
        assert_eq!((claimed.pages, claimed.dirty), (0..66, 2));
        assert_eq!(pages_of(&chunk, Source::Dirty, exactly(6)), Some(66..72));
        chunk.give(60..66, false);
        chunk.put_back(66..70);
        assert_eq!(
            (chunk.dirty_among(50..66), chunk.claim_exactly(60..70)),
            (0, Some(4))
        );
    }

    #[test]
    fn a_claim_that_fails_takes_nothing() {
        let chunk = Pages::default();
        chunk.give(50..100, true);
        chunk.give(101..200, true);
        let before = (chunk.free_pages(), chunk.dirty_pages());
        assert_eq!(chunk.claim_exactly(60..150), None);
        assert_eq!(chunk.claim_exactly(40..60), None);
        assert_eq!((chunk.free_pages(), chunk.dirty_pages()), before);
        assert_eq!(chunk.claim_exactly(101..200), Some(99));
    }

    #[test]
    fn ends() {
        let chunk = Pages::default();
        assert_eq!(chunk.free_ends(), (0, 0));
        chunk.give(0..70, false);
        chunk.give(1000..CHUNK_PAGES, false);
        assert_eq!(chunk.free_ends(), (70, 24));
        chunk.give(70..1000, false);
        assert_eq!(chunk.free_ends(), (CHUNK_PAGES, CHUNK_PAGES));
    }

    fn source() -> impl Strategy<Value = Source> {
        prop_oneof![Just(Source::Any), Just(Source::Dirty), Just(Source::Split)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]

        /// Against a list of two flags a page.
        #[test]
        fn agrees_with_a_list(steps in proptest::collection::vec(
            (0..CHUNK_PAGES, 1..600usize, 1..40usize, any::<bool>(), any::<bool>(), source()), 1..60,
        )) {
            let chunk = Pages::default();
            let (mut free, mut dirty) = ([false; CHUNK_PAGES], [false; CHUNK_PAGES]);
            for (start, give, most, align, is_dirty, source) in steps {
                let end = (start + give).min(CHUNK_PAGES);
                if !free[start..end].contains(&true) {
                    chunk.give(start..end, is_dirty);
                    free[start..end].fill(true);
                    dirty[start..end].fill(is_dirty);
                }
                let may_take: Vec<bool> = (0..CHUNK_PAGES)
                    .map(|page| free[page] && match source {
                        Source::Any => true,
                        Source::Dirty => dirty[page],
                        Source::Split => free[page / HUGE_PAGES * HUGE_PAGES..][..HUGE_PAGES].contains(&false),
                    })
                    .collect();
                let least = most.div_ceil(2);
                let wanted = Wanted { least, most, align: if align { 16 } else { 1 } };
                let expected = (0..=CHUNK_PAGES - least)
                    .step_by(wanted.align)
                    .find(|&page| !may_take[page..page + least].contains(&false));
                let claimed = chunk.claim(source, wanted);
                prop_assert_eq!(claimed.as_ref().map(|claimed| claimed.pages.start), expected);
                if let Some(Claimed { pages, dirty: held }) = claimed {
                    let longer = pages.end < CHUNK_PAGES && may_take[pages.end];
                    prop_assert!(pages.len() == most || !longer);
                    prop_assert_eq!(held, dirty[pages.clone()].iter().filter(|&&dirty| dirty).count());
                    free[pages.clone()].fill(false);
                    dirty[pages].fill(false);
                }
                let set = |flags: &[bool]| (0..CHUNK_PAGES).filter(|&page| flags[page]).collect::<Vec<_>>();
                prop_assert_eq!(runs(&chunk.free_pages()).flatten().collect::<Vec<_>>(), set(&free));
                prop_assert_eq!(ones_of(chunk.dirty_pages()).collect::<Vec<_>>(), set(&dirty));
            }
        }
    }
}
