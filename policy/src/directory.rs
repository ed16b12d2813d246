// SPDX-License-Identifier: MIT OR Apache-2.0
//! The headers of all blocks, by address: one array of headers for each chunk, made when the chunk
//! is added and freed with the heap. And which blocks have a marked cell, in one dense table.

use crate::block::Block;
use crate::config::{Config, CHUNK_BYTES, LOG_CHUNK_BYTES};
use crate::stack::{Link, Links, NONE};
use crate::sync;
use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

/// Number of a chunk: its distance from the lowest address of the heap, in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk(pub(crate) usize);

/// Address space for chunks, and the headers of those that were added.
pub(crate) struct Directory<C: Config> {
    base: usize,
    len: usize,
    /// No chunk from this one on was added yet.
    end: AtomicUsize,
    /// For each chunk in the range its headers, or null.
    chunks: NonNull<AtomicPtr<Block>>,
    /// For each block in the range whether a cell of it is marked.
    marked: NonNull<AtomicBool>,
    config: PhantomData<C>,
}

// SAFETY: the table is shared only through atomics, and headers consist of atomics.
unsafe impl<C: Config> Send for Directory<C> {}
// SAFETY: as above.
unsafe impl<C: Config> Sync for Directory<C> {}

impl<C: Config> Directory<C> {
    pub fn new(range: Range<usize>) -> Self {
        assert!(
            range.start % CHUNK_BYTES == 0 && range.end % CHUNK_BYTES == 0 && !range.is_empty(),
            "the range of a heap must be whole chunks of 4 MiB, not {range:#x?}"
        );
        let len = range.len() >> LOG_CHUNK_BYTES;
        assert!(
            len * C::CHUNK_BLOCKS < Link::MAX as usize,
            "the range {range:#x?} has too many blocks"
        );
        Directory {
            base: range.start,
            len,
            end: AtomicUsize::new(0),
            chunks: zeroed(Self::chunks_layout(len)),
            marked: zeroed(Self::marked_layout(len)),
            config: PhantomData,
        }
    }

    fn chunks_layout(len: usize) -> Layout {
        Layout::array::<AtomicPtr<Block>>(len).expect("a table of chunks fits into memory")
    }

    fn marked_layout(len: usize) -> Layout {
        let blocks = len * C::CHUNK_BLOCKS;
        Layout::array::<AtomicBool>(blocks).expect("a table of blocks fits into memory")
    }

    fn table(&self) -> &[AtomicPtr<Block>] {
        // SAFETY: `new` made this many, and they live as long as the directory.
        unsafe { std::slice::from_raw_parts(self.chunks.as_ptr(), self.len) }
    }

    /// Makes headers for the chunk at `start`.
    ///
    /// # Panics
    /// If `start` is not a chunk of the range, or was added before.
    pub fn add(&self, start: usize) -> Chunk {
        let chunk = Chunk(start.wrapping_sub(self.base) >> LOG_CHUNK_BYTES);
        assert!(
            start % CHUNK_BYTES == 0 && chunk.0 < self.len,
            "{start:#x} is not a chunk in the range of the heap"
        );
        let headers: Box<[Block]> = (0..C::CHUNK_BLOCKS)
            .map(|index| Block::new(start + (index << C::LOG_BLOCK_BYTES)))
            .collect();
        let headers = Box::into_raw(headers);
        let slot = &self.table()[chunk.0];
        if slot
            .compare_exchange(null_mut(), headers.cast(), AcqRel, Acquire)
            .is_err()
        {
            // SAFETY: it was a box a moment ago, and nobody else has seen it.
            drop(unsafe { Box::from_raw(headers) });
            panic!("the chunk at {start:#x} was added twice");
        }
        self.end.fetch_max(chunk.0 + 1, AcqRel);
        chunk
    }

    /// The chunks that were added, lowest address first.
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = Chunk> + '_ {
        (0..self.end.load(Acquire))
            .map(Chunk)
            .filter(|&chunk| !self.headers(chunk).is_empty())
    }

    /// Address of the chunk's first byte.
    pub fn start(&self, chunk: Chunk) -> usize {
        self.base + (chunk.0 << LOG_CHUNK_BYTES)
    }

    /// The headers of the chunk's blocks, none if it was never added.
    pub fn headers(&self, chunk: Chunk) -> &[Block] {
        let headers = self.table()[chunk.0].load(Acquire);
        if headers.is_null() {
            return &[];
        }
        // SAFETY: `add` put an array of this length here, which lives as long as the directory.
        unsafe { std::slice::from_raw_parts(headers, C::CHUNK_BLOCKS) }
    }

    /// For each block of the chunk whether a cell of it is marked.
    pub fn marked(&self, chunk: Chunk) -> &[AtomicBool] {
        let all = NonNull::slice_from_raw_parts(self.marked, self.len * C::CHUNK_BLOCKS);
        // SAFETY: `new` made this many, zero is false, and they live as long as the directory.
        let all = unsafe { all.as_ref() };
        &all[chunk.0 * C::CHUNK_BLOCKS..][..C::CHUNK_BLOCKS]
    }

    /// Whether a cell of the block that holds `address` is marked.
    ///
    /// # Safety
    /// The address must be in the range.
    #[inline(always)]
    pub unsafe fn marked_at(&self, address: usize) -> &AtomicBool {
        let index = (address - self.base) >> C::LOG_BLOCK_BYTES;
        debug_assert!(index < self.len * C::CHUNK_BLOCKS);
        // SAFETY: `new` made one for each block of the range.
        unsafe { self.marked.add(index).as_ref() }
    }

    /// The link of block `index` of `chunk`.
    pub fn link_to(&self, chunk: Chunk, index: usize) -> Link {
        (chunk.0 * C::CHUNK_BLOCKS + index + 1) as Link
    }

    /// The block that `link` leads to.
    ///
    /// # Panics
    /// If it leads to no block.
    #[inline]
    pub fn block(&self, link: Link) -> &Block {
        debug_assert_ne!(link, NONE);
        let index = link as usize - 1;
        &self.headers(Chunk(index / C::CHUNK_BLOCKS))[index % C::CHUNK_BLOCKS]
    }

    /// The block that holds the byte at `address`, if a chunk was added there.
    pub fn block_at(&self, address: usize) -> Option<&Block> {
        let offset = address.checked_sub(self.base)?;
        let chunk = Chunk(offset >> LOG_CHUNK_BYTES);
        if chunk.0 >= self.len {
            return None;
        }
        self.headers(chunk)
            .get((offset % CHUNK_BYTES) >> C::LOG_BLOCK_BYTES)
    }
}

impl<C: Config> Links for Directory<C> {
    fn link(&self, link: Link) -> &sync::AtomicU32 {
        &self.block(link).next
    }
}

impl<C: Config> Drop for Directory<C> {
    fn drop(&mut self) {
        for chunk in self.table() {
            let headers = chunk.load(Acquire);
            if !headers.is_null() {
                let headers = std::ptr::slice_from_raw_parts_mut(headers, C::CHUNK_BLOCKS);
                // SAFETY: `add` made it from a box of this length, and nobody uses it any more.
                drop(unsafe { Box::from_raw(headers) });
            }
        }
        // SAFETY: `new` allocated them with these layouts.
        unsafe {
            dealloc(self.chunks.as_ptr().cast(), Self::chunks_layout(self.len));
            dealloc(self.marked.as_ptr().cast(), Self::marked_layout(self.len));
        }
    }
}

/// A table of the size of `layout`, which is not empty. Zeroed by the OS: a wide range costs no memory until
/// chunks in it are added.
fn zeroed<T>(layout: Layout) -> NonNull<T> {
    // SAFETY: the layout is not empty.
    let table = unsafe { alloc_zeroed(layout) };
    NonNull::new(table.cast()).unwrap_or_else(|| handle_alloc_error(layout))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Blocks;

    type C = Blocks<17, false>;
    const BASE: usize = 16 * CHUNK_BYTES;

    fn directory() -> Directory<C> {
        Directory::new(BASE..BASE + 8 * CHUNK_BYTES)
    }

    #[test]
    fn blocks_are_found_by_link_and_by_address() {
        let directory = directory();
        assert_eq!(directory.chunks().count(), 0);
        let high = directory.add(BASE + 5 * CHUNK_BYTES);
        let low = directory.add(BASE + CHUNK_BYTES);
        assert_eq!(directory.chunks().collect::<Vec<_>>(), [low, high]);
        assert_eq!(directory.start(high), BASE + 5 * CHUNK_BYTES);
        for (index, block) in directory.headers(high).iter().enumerate() {
            let link = directory.link_to(high, index);
            assert!(std::ptr::eq(directory.block(link), block));
            let last = block.start() + C::BLOCK_BYTES - 1;
            assert!(std::ptr::eq(directory.block_at(last).unwrap(), block));
        }
        for outside in [0, BASE, BASE + 8 * CHUNK_BYTES] {
            assert!(directory.block_at(outside).is_none());
        }
    }

    #[test]
    #[should_panic(expected = "added twice")]
    fn a_chunk_is_added_once() {
        let directory = directory();
        directory.add(BASE);
        directory.add(BASE);
    }

    #[test]
    #[should_panic(expected = "not a chunk in the range")]
    fn chunks_lie_in_the_range() {
        directory().add(BASE + 8 * CHUNK_BYTES);
    }

    #[test]
    #[should_panic(expected = "whole chunks of 4 MiB")]
    fn ranges_are_whole_chunks() {
        Directory::<C>::new(BASE..BASE + 4096);
    }
}
