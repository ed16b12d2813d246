// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of each chunk, by address: its free pages, the pages at which blocks begin, and a header for
//! each page, of which the first page of a block uses its own. And which pages have a marked cell, in one dense table.

use crate::block::Block;
use crate::collect::Scope;
use crate::config::{Config, CHUNK_BYTES, LOG_CHUNK_BYTES, LOG_PAGE_BYTES};
use crate::pages::{ones_of, PageSet, Pages, CHUNK_PAGES};
use crate::prefetch::prefetch;
use crate::stack::{Link, Links, NONE};
use crate::sync::{self, AtomicPtr, AtomicUsize};
use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Number of a chunk: its distance from the lowest address of the heap, in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk(pub(crate) usize);

/// Number of a page: its distance from the lowest address of the heap, in pages.
pub(crate) type Page = usize;

/// What is known of a chunk.
pub(crate) struct ChunkState {
    pub pages: Pages,
    /// Whether the embedder lets the heap use the chunk.
    present: sync::AtomicBool,
    /// The pages at which blocks begin.
    starts: [sync::AtomicU64; CHUNK_PAGES / 64],
    /// Those of them that a partial collection releases: cells were handed out from them since the last collection, or it has kept them
    /// for a thread.
    young: [sync::AtomicU64; CHUNK_PAGES / 64],
    blocks: Box<[Block]>,
}

impl ChunkState {
    fn new() -> Self {
        ChunkState {
            pages: Pages::default(),
            present: sync::AtomicBool::new(false),
            starts: std::array::from_fn(|_| sync::AtomicU64::new(0)),
            young: std::array::from_fn(|_| sync::AtomicU64::new(0)),
            blocks: unused_blocks(),
        }
    }

    /// The pages, as numbers in the chunk, at which blocks begin.
    fn starts(&self) -> PageSet {
        std::array::from_fn(|word| self.starts[word].load(Relaxed))
    }

    /// The pages at which those blocks begin that a collection of this scope releases. None is young afterwards.
    pub fn take_starts(&self, scope: Scope) -> PageSet {
        std::array::from_fn(|word| {
            let young = self.young[word].load(Relaxed);
            if young != 0 {
                self.young[word].store(0, Relaxed);
            }
            let starts = self.starts[word].load(Relaxed);
            match scope {
                Scope::Full => starts,
                Scope::Young => starts & young,
            }
        })
    }
}

/// Address space for chunks, and the state of those that were ever added.
pub(crate) struct Directory<C: Config> {
    base: usize,
    len: usize,
    /// No chunk from this one on was added yet.
    end: AtomicUsize,
    /// For each chunk in the range its state, or null.
    chunks: NonNull<AtomicPtr<ChunkState>>,
    /// For each page in the range whether a cell that begins on it is marked.
    marked: NonNull<AtomicBool>,
    config: PhantomData<C>,
}

// SAFETY: the tables are shared only through atomics, and what they lead to consists of atomics.
unsafe impl<C: Config> Send for Directory<C> {}
// SAFETY: as above.
unsafe impl<C: Config> Sync for Directory<C> {}

impl<C: Config> Directory<C> {
    pub fn new(range: Range<usize>) -> Self {
        assert!(
            range.start % CHUNK_BYTES == 0 && range.end % CHUNK_BYTES == 0 && !range.is_empty(),
            "the range of a heap must be whole chunks of {CHUNK_BYTES} bytes, not {range:#x?}"
        );
        let len = range.len() >> LOG_CHUNK_BYTES;
        assert!(
            len < Link::MAX as usize / CHUNK_PAGES,
            "the range {range:#x?} has too many pages"
        );
        Directory {
            base: range.start,
            len,
            end: AtomicUsize::new(0),
            chunks: Self::no_chunks(len),
            marked: zeroed(Self::marked_layout(len)),
            config: PhantomData,
        }
    }

    fn chunks_layout(len: usize) -> Layout {
        Layout::array::<AtomicPtr<ChunkState>>(len).expect("a table of chunks fits into memory")
    }

    /// A table of `len` chunks, none of which was ever added.
    #[cfg(not(loom))]
    fn no_chunks(len: usize) -> NonNull<AtomicPtr<ChunkState>> {
        zeroed(Self::chunks_layout(len))
    }

    #[cfg(loom)]
    fn no_chunks(len: usize) -> NonNull<AtomicPtr<ChunkState>> {
        let table: Box<[AtomicPtr<ChunkState>]> = (0..len).map(|_| AtomicPtr::default()).collect();
        NonNull::from(Box::leak(table)).cast()
    }

    fn marked_layout(len: usize) -> Layout {
        Layout::array::<AtomicBool>(len * CHUNK_PAGES).expect("a table of pages fits into memory")
    }

    fn table(&self) -> &[AtomicPtr<ChunkState>] {
        // SAFETY: `new` made this many, and they live as long as the directory.
        unsafe { std::slice::from_raw_parts(self.chunks.as_ptr(), self.len) }
    }

    /// Adds the chunk at `start`, without a free page.
    ///
    /// # Panics
    /// If `start` is not a chunk of the range, or the chunk is there already.
    pub fn add(&self, start: usize) -> Chunk {
        let chunk = Chunk(start.wrapping_sub(self.base) >> LOG_CHUNK_BYTES);
        assert!(
            start % CHUNK_BYTES == 0 && chunk.0 < self.len,
            "{start:#x} is not a chunk in the range of the heap"
        );
        let slot = &self.table()[chunk.0];
        if slot.load(Acquire).is_null() {
            let state = Box::into_raw(Box::new(ChunkState::new()));
            if slot
                .compare_exchange(null_mut(), state, AcqRel, Acquire)
                .is_err()
            {
                // SAFETY: it was a box a moment ago, and nobody else has seen it.
                drop(unsafe { Box::from_raw(state) });
            }
        }
        let was_present = self.state(chunk).present.swap(true, AcqRel);
        assert!(!was_present, "the chunk at {start:#x} was added twice");
        self.end.fetch_max(chunk.0 + 1, AcqRel);
        chunk
    }

    /// Takes a chunk out again of which the caller has claimed all pages. Its state is kept, as others may look at
    /// it at any time.
    pub fn remove(&self, chunk: Chunk) {
        self.state(chunk).present.store(false, Release);
    }

    /// The chunks that are there, lowest address first.
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = Chunk> + '_ {
        let all = (0..self.end()).map(Chunk);
        all.filter(|&chunk| self.is_present(chunk))
    }

    fn is_present(&self, chunk: Chunk) -> bool {
        let state = self.find(chunk);
        state.is_some_and(|state| state.present.load(Relaxed))
    }

    /// The chunk that `start` lies in, if it is there.
    pub fn present_at(&self, start: usize) -> Option<Chunk> {
        let chunk = Chunk(start.checked_sub(self.base)? >> LOG_CHUNK_BYTES);
        (chunk.0 < self.len && self.is_present(chunk)).then_some(chunk)
    }

    /// No chunk from this number on was ever added.
    pub fn end(&self) -> usize {
        self.end.load(Acquire)
    }

    /// Address of the chunk's first byte.
    pub fn start(&self, chunk: Chunk) -> usize {
        self.base + (chunk.0 << LOG_CHUNK_BYTES)
    }

    /// The state of the chunk, if it was ever added.
    pub fn find(&self, chunk: Chunk) -> Option<&ChunkState> {
        let state = self.table()[chunk.0].load(Acquire);
        // SAFETY: null, or what `add` put here, which lives as long as the directory.
        unsafe { state.as_ref() }
    }

    /// The state of a chunk that was added.
    pub fn state(&self, chunk: Chunk) -> &ChunkState {
        self.find(chunk).expect("the chunk was added")
    }

    /// For each page of the chunk whether a cell that begins on it is marked.
    pub fn marked(&self, chunk: Chunk) -> &[AtomicBool] {
        let all = NonNull::slice_from_raw_parts(self.marked, self.len * CHUNK_PAGES);
        // SAFETY: `new` made this many, zero is false, and they live as long as the directory.
        let all = unsafe { all.as_ref() };
        &all[chunk.0 * CHUNK_PAGES..][..CHUNK_PAGES]
    }

    /// Whether a cell is marked that begins on the page that holds `address`.
    ///
    /// # Safety
    /// The address must be in the range.
    #[inline(always)]
    pub unsafe fn marked_at(&self, address: usize) -> &AtomicBool {
        let page = (address - self.base) >> LOG_PAGE_BYTES;
        debug_assert!(page < self.len * CHUNK_PAGES);
        // SAFETY: `new` made one for each page of the range.
        unsafe { self.marked.add(page).as_ref() }
    }

    /// The number of page `page` of `chunk`.
    pub fn page(&self, chunk: Chunk, page: usize) -> Page {
        chunk.0 * CHUNK_PAGES + page
    }

    /// Address of the page's first byte.
    pub fn address(&self, page: Page) -> usize {
        self.base + (page << LOG_PAGE_BYTES)
    }

    /// The link that leads to the header of `page`.
    pub fn link_to(&self, page: Page) -> Link {
        (page + 1) as Link
    }

    /// The page whose header `link` leads to.
    pub fn page_of(&self, link: Link) -> Page {
        debug_assert_ne!(link, NONE);
        link as usize - 1
    }

    /// The header of `page`, whose chunk was added.
    #[inline]
    pub fn header(&self, page: Page) -> &Block {
        &self.chunk_of(page).blocks[page % CHUNK_PAGES]
    }

    /// The page at which the block or the large object begins that `page` is of.
    pub fn start_of(&self, page: Page) -> Page {
        let (in_chunk, first) = (page % CHUNK_PAGES, page - page % CHUNK_PAGES);
        let state = self.chunk_of(page);
        let mut up_to = u64::MAX >> (63 - in_chunk % 64);
        for word in (0..=in_chunk / 64).rev() {
            let starts = state.starts[word].load(Relaxed) & up_to;
            if starts != 0 {
                return first + word * 64 + starts.ilog2() as usize;
            }
            up_to = u64::MAX;
        }
        // A large object that begins chunks before.
        (self.header(first).start() - self.base) >> LOG_PAGE_BYTES
    }

    /// The block that `link` leads to.
    #[inline]
    pub fn block(&self, link: Link) -> &Block {
        self.header(self.page_of(link))
    }

    /// Notes that a block begins at `page`.
    pub fn set_start(&self, page: Page) {
        let (word, bit) = bit_of(page);
        self.chunk_of(page).starts[word].fetch_or(bit, Relaxed);
    }

    /// Notes that no block begins at `page`.
    pub fn clear_start(&self, page: Page) {
        let (word, bit) = bit_of(page);
        self.chunk_of(page).starts[word].fetch_and(!bit, Relaxed);
    }

    /// Notes that cells are handed out from the block that begins at `page`.
    pub fn set_young(&self, page: Page) {
        let (word, bit) = bit_of(page);
        let young = &self.chunk_of(page).young[word];
        // Most often it is set, and then its cache line can stay with all threads.
        if young.load(Relaxed) & bit == 0 {
            young.fetch_or(bit, Relaxed);
        }
    }

    fn chunk_of(&self, page: Page) -> &ChunkState {
        self.state(Chunk(page / CHUNK_PAGES))
    }

    /// The blocks of `chunk`, lowest address first, each with its first page.
    pub fn blocks_in(&self, chunk: Chunk) -> impl Iterator<Item = (Page, &Block)> {
        self.blocks_at(chunk, self.state(chunk).starts())
    }

    /// The headers of these pages of `chunk`. The processor begins to fetch all of them at once, for a collection spends most
    /// of its time at headers with waiting for the first read of each.
    pub fn blocks_at(&self, chunk: Chunk, pages: PageSet) -> impl Iterator<Item = (Page, &Block)> {
        let state = self.state(chunk);
        ones_of(pages).for_each(|page| prefetch(&raw const state.blocks[page] as usize));
        ones_of(pages).map(move |page| (self.page(chunk, page), &state.blocks[page]))
    }

    /// Splits a run into the parts in each chunk.
    pub fn parts(&self, run: Range<Page>) -> impl Iterator<Item = (Chunk, Range<usize>)> {
        let chunks = run.start / CHUNK_PAGES..run.end.div_ceil(CHUNK_PAGES);
        chunks.map(move |chunk| {
            let base = chunk * CHUNK_PAGES;
            let pages = run.start.max(base) - base..run.end.min(base + CHUNK_PAGES) - base;
            (Chunk(chunk), pages)
        })
    }
}

/// The word and the bit of a page in sets of its chunk.
fn bit_of(page: Page) -> (usize, u64) {
    (page % CHUNK_PAGES / 64, 1 << (page % 64))
}

impl<C: Config> Links for Directory<C> {
    fn link(&self, link: Link) -> &sync::AtomicU32 {
        &self.block(link).next
    }
}

impl<C: Config> Drop for Directory<C> {
    fn drop(&mut self) {
        for chunk in self.table() {
            let state = chunk.load(Acquire);
            if !state.is_null() {
                // SAFETY: `add` made it from a box, and nobody uses it any more.
                drop(unsafe { Box::from_raw(state) });
            }
        }
        // SAFETY: `new` allocated them with these layouts.
        unsafe {
            dealloc(self.chunks.as_ptr().cast(), Self::chunks_layout(self.len));
            dealloc(self.marked.as_ptr().cast(), Self::marked_layout(self.len));
        }
    }
}

/// Headers for a chunk: 64 KiB, which are resident as soon as the chunk is there.
#[cfg(not(loom))]
fn unused_blocks() -> Box<[Block]> {
    let layout = Layout::array::<Block>(CHUNK_PAGES).expect("headers of a chunk fit into memory");
    let blocks = NonNull::slice_from_raw_parts(zeroed::<Block>(layout), CHUNK_PAGES);
    // SAFETY: allocated with the layout of this slice; all zero is an unused header, as `Block` says.
    unsafe { Box::from_raw(blocks.as_ptr()) }
}

#[cfg(loom)]
fn unused_blocks() -> Box<[Block]> {
    (0..CHUNK_PAGES).map(|_| Block::default()).collect()
}

/// A table of the size of `layout`, which is not empty. All its bytes are zero. Where the alignment of `T` is that of a word, the OS
/// zeroes them, and a wide range costs no memory until chunks in it are added.
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
    fn headers_are_found_by_link_and_by_address() {
        let directory = directory();
        assert_eq!(directory.chunks().count(), 0);
        let high = directory.add(BASE + 5 * CHUNK_BYTES);
        let low = directory.add(BASE + CHUNK_BYTES);
        assert_eq!(directory.chunks().collect::<Vec<_>>(), [low, high]);
        assert_eq!(directory.start(high), BASE + 5 * CHUNK_BYTES);
        for page in [0, 1, CHUNK_PAGES - 1].map(|page| directory.page(high, page)) {
            let header = directory.header(page);
            assert!(std::ptr::eq(
                directory.block(directory.link_to(page)),
                header
            ));
            assert_eq!(directory.address(page) - BASE, page << LOG_PAGE_BYTES);
        }
    }

    #[test]
    fn blocks_begin_where_it_was_noted() {
        let directory = directory();
        let chunk = directory.add(BASE);
        let pages = [0, 63, 64, 1023];
        pages.iter().for_each(|&page| directory.set_start(page));
        directory.clear_start(63);
        let found: Vec<Page> = directory.blocks_in(chunk).map(|(page, _)| page).collect();
        assert_eq!(found, [0, 64, 1023]);
    }

    #[test]
    fn runs_are_split_by_chunk() {
        let run = CHUNK_PAGES - 3..2 * CHUNK_PAGES + 5;
        let parts: Vec<_> = directory().parts(run).collect();
        let last = CHUNK_PAGES - 3..CHUNK_PAGES;
        assert_eq!(
            parts,
            [
                (Chunk(0), last),
                (Chunk(1), 0..CHUNK_PAGES),
                (Chunk(2), 0..5)
            ]
        );
    }

    #[test]
    fn a_chunk_comes_back_after_it_was_removed() {
        let directory = directory();
        let chunk = directory.add(BASE);
        directory.remove(chunk);
        assert_eq!(directory.chunks().count(), 0);
        assert_eq!(directory.add(BASE), chunk);
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
    #[should_panic(expected = "whole chunks of")]
    fn ranges_are_whole_chunks() {
        Directory::<C>::new(BASE..BASE + 4096);
    }
}
