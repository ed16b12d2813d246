// SPDX-License-Identifier: MIT OR Apache-2.0
//! The embedder's mark bits, read a 64-bit word at a time.

use crate::config::PAGE_BYTES;
use std::ops::Range;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{fence, AtomicU8};

/// log2 of the bytes of heap that one mark bit stands for.
pub const LOG_GRANULE_BYTES: u32 = 3;
/// Words of mark bits for an OS page.
pub const WORDS_PER_PAGE: usize = PAGE_BYTES >> (LOG_GRANULE_BYTES + 6);

/// A bitmap with one bit for each 8 bytes of heap, lowest bit of a word first. An object is marked by
/// the bit of the first granule of its cell, and no other bit of its cell is ever set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkBits {
    bitmap: usize,
    heap: usize,
}

impl MarkBits {
    /// The bitmap at address `bitmap`, whose first word holds the bits for the 512 bytes of heap from
    /// address `heap` on. The provenance of the memory must have been exposed.
    ///
    /// # Safety
    /// For every chunk that is added to a [`Heap`](crate::Heap) with this bitmap, the bits must stay
    /// readable and writable as long as the heap lives. If sweeping reads these bits, nobody may write to those of a chunk
    /// while a block in it can be swept: from the end of marking to the beginning of the next collection.
    ///
    /// # Panics
    /// If `bitmap` or `heap` is not aligned to a word of bits (8 and 512 bytes).
    pub unsafe fn new(bitmap: usize, heap: usize) -> MarkBits {
        assert!(
            bitmap % 8 == 0 && heap % 512 == 0,
            "mark bits must be aligned to words"
        );
        MarkBits { bitmap, heap }
    }

    /// The bits of the page at `page`, an address inside a chunk of the heap.
    #[inline]
    pub(crate) fn of_page(&self, page: usize) -> &[u64; WORDS_PER_PAGE] {
        debug_assert!(page % PAGE_BYTES == 0 && page >= self.heap);
        let word = self.bitmap + ((page - self.heap) >> (LOG_GRANULE_BYTES + 3));
        // SAFETY: `new` demands that the words be readable and unchanging for pages of the heap, and
        // no other page comes here.
        unsafe { &*std::ptr::with_exposed_provenance(word) }
    }

    /// The byte that holds the bit of `cell`, and the bit in it.
    #[inline(always)]
    fn byte_of(&self, cell: usize) -> (&AtomicU8, u8) {
        let granule = (cell - self.heap) >> LOG_GRANULE_BYTES;
        let byte = std::ptr::with_exposed_provenance_mut::<u8>(self.bitmap + granule / 8);
        // SAFETY: `new` demands that the bits be there for pages of the heap, and no other cell comes here. Whoever else
        // writes to them now does so atomically, a byte at a time.
        (unsafe { AtomicU8::from_ptr(byte) }, 1 << (granule % 8))
    }

    /// Marks `cell`, while others may mark too. Returns whether it was not marked before: of several threads, one is told so. Orders nothing.
    #[inline(always)]
    pub(crate) fn mark(&self, cell: usize) -> bool {
        let (byte, bit) = self.byte_of(cell);
        byte.load(Relaxed) & bit == 0 && byte.fetch_or(bit, Relaxed) & bit == 0
    }

    /// Calls `change` with each byte that holds bits of `cells`, these bits, and the first of those cells.
    fn for_each_byte(
        &self,
        mut cells: impl Iterator<Item = usize>,
        change: impl Fn(&AtomicU8, u8, usize),
    ) {
        let Some(mut first) = cells.next() else {
            return;
        };
        let (mut byte, mut bits) = self.byte_of(first);
        for cell in cells {
            let (next, bit) = self.byte_of(cell);
            if !std::ptr::eq(next, byte) {
                change(byte, bits, first);
                (first, byte, bits) = (cell, next, 0);
            }
            bits |= bit;
        }
        change(byte, bits, first);
    }

    /// Marks `cells`, while others may mark too. A thread that finds an object in one of them through a reference, which
    /// is stored later, finds it marked. Calls `note` with the first of each group that has one byte of bits.
    pub(crate) fn set(&self, cells: impl Iterator<Item = usize>, note: impl Fn(usize)) {
        self.for_each_byte(cells, |byte, bits, first| {
            byte.fetch_or(bits, Relaxed);
            note(first);
        });
        // Before what the caller stores from here on.
        fence(Release);
    }

    /// Takes the marks of `cells` back, while others may mark other cells.
    pub(crate) fn clear(&self, cells: impl Iterator<Item = usize>) {
        self.for_each_byte(cells, |byte, bits, _| {
            byte.fetch_and(!bits, Relaxed);
        });
    }

    /// Copies the bits of the page at `page`, an address inside a chunk of the heap, to `other`, which has those of the
    /// same pages.
    ///
    /// # Safety
    /// Nobody else may use the bits of `other` for that page.
    pub(crate) unsafe fn copy_page(&self, page: usize, other: &MarkBits) {
        let words = std::ptr::from_ref(other.of_page(page)).addr();
        // SAFETY: the words are those of a bitmap whose provenance is exposed, and the caller has them alone.
        unsafe {
            std::ptr::with_exposed_provenance_mut::<[u64; WORDS_PER_PAGE]>(words)
                .write(*self.of_page(page))
        };
    }

    /// The lowest marked address in `range`, which begins at a granule and lies in one chunk.
    pub(crate) fn next(&self, range: Range<usize>) -> Option<usize> {
        let mut at = range.start;
        while at < range.end {
            let words = self.of_page(at - at % PAGE_BYTES);
            let granule = (at % PAGE_BYTES) >> LOG_GRANULE_BYTES;
            let first = words[granule / 64] & (u64::MAX << (granule % 64));
            let rest = words[granule / 64 + 1..].iter().copied();
            let found = std::iter::once(first)
                .chain(rest)
                .enumerate()
                .find(|&(_, word)| word != 0);
            at -= at % PAGE_BYTES;
            if let Some((index, word)) = found {
                let granule = (granule / 64 + index) * 64 + word.trailing_zeros() as usize;
                return Some(at + (granule << LOG_GRANULE_BYTES)).filter(|&mark| mark < range.end);
            }
            at += PAGE_BYTES;
        }
        None
    }

    /// Whether the object in the cell at `cell` is marked.
    pub(crate) fn is_marked(&self, cell: usize) -> bool {
        let granule = (cell % PAGE_BYTES) >> LOG_GRANULE_BYTES;
        self.of_page(cell - cell % PAGE_BYTES)[granule / 64] >> (granule % 64) & 1 != 0
    }
}

/// Calls `each` with the offset in bytes of every marked granule of a page, in ascending order.
#[inline]
pub(crate) fn for_each_marked(words: &[u64; WORDS_PER_PAGE], mut each: impl FnMut(usize)) {
    for (index, &word) in words.iter().enumerate() {
        for bit in ones(word) {
            each((index * 64 + bit) << LOG_GRANULE_BYTES);
        }
    }
}

/// The numbers of the bits that are set in `word`, in ascending order.
#[inline]
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then_some(word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

/// The number of marked granules of a page and the offset in bytes of the last, if there is any.
#[inline]
pub(crate) fn count_and_last(words: &[u64; WORDS_PER_PAGE]) -> Option<(u32, usize)> {
    let count = words.iter().map(|word| word.count_ones()).sum();
    let last = words.iter().rposition(|&word| word != 0)?;
    let bit = 63 - words[last].leading_zeros() as usize;
    Some((count, (last * 64 + bit) << LOG_GRANULE_BYTES))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words(offsets: &[usize]) -> [u64; WORDS_PER_PAGE] {
        let mut words = [0; WORDS_PER_PAGE];
        for offset in offsets {
            words[offset / 512] |= 1 << (offset / 8 % 64);
        }
        words
    }

    #[test]
    fn marked_granules_come_in_order() {
        let offsets = [0, 8, 504, 512, 2048, 4088];
        let mut seen = Vec::new();
        for_each_marked(&words(&offsets), |offset| seen.push(offset));
        assert_eq!(seen, offsets);
        assert_eq!(count_and_last(&words(&offsets)), Some((6, 4088)));
        assert_eq!(count_and_last(&words(&[16])), Some((1, 16)));
        assert_eq!(count_and_last(&words(&[])), None);
    }

    #[test]
    fn pages_find_their_words() {
        let bitmap: Vec<u64> = [words(&[]), words(&[24, 4000])].concat();
        let heap = 64 * PAGE_BYTES;
        // SAFETY: only the two pages that the vector covers are asked for.
        let marks = unsafe { MarkBits::new(bitmap.as_ptr().expose_provenance(), heap) };
        assert_eq!(marks.of_page(heap), &words(&[]));
        assert_eq!(marks.of_page(heap + PAGE_BYTES), &words(&[24, 4000]));
        assert!(marks.is_marked(heap + PAGE_BYTES + 4000));
        assert!(!marks.is_marked(heap + PAGE_BYTES + 4008));
        let mark = |offset| heap + PAGE_BYTES + offset;
        assert_eq!(marks.next(heap..mark(25)), Some(mark(24)));
        assert_eq!(marks.next(heap..mark(24)), None);
        assert_eq!(marks.next(mark(24)..mark(4096)), Some(mark(24)));
        assert_eq!(marks.next(mark(32)..mark(4096)), Some(mark(4000)));
        assert_eq!(marks.next(mark(4008)..mark(4096)), None);
    }
}
