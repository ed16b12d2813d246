// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all threads share: the blocks of the heap and the pools of those that no thread owns.

use crate::block::{Block, State};
use crate::config::Config;
use crate::directory::{Chunk, Directory};
use crate::marks::MarkBits;
use crate::shape::Shape;
use crate::size_class::Bin;
use crate::stack::{Chain, Link, Stack};
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// A heap of blocks. Threads allocate from it through a [`Local`](crate::Local) each; the collector
/// calls its methods while all of them are stopped.
pub struct Heap<C: Config> {
    pub(crate) directory: Directory<C>,
    pub(crate) marks: MarkBits,
    /// Pages that are not open but may still be held from the OS.
    pub(crate) dirty_pages: AtomicUsize,
    pub(crate) pools: Pools,
}

/// The blocks that no thread owns.
pub(crate) struct Pools {
    /// Blocks of no bin. Address space is recycled here for any bin.
    pub free: Stack,
    /// Blocks of no bin of which all pages were dirty at the last collection. Dirty blocks are taken first, as
    /// touching such pages costs no page fault if they have not been purged meanwhile.
    pub dirty: Stack,
    /// Blocks of no bin of which some pages were dirty at the last collection, as large cells leave them that
    /// fill a part of their block.
    pub part_dirty: Stack,
    /// By bin, blocks that may have free cells on charged pages.
    pub unswept: Box<[Stack]>,
    /// By bin, blocks that have no such cell but can grow.
    pub available: Box<[Stack]>,
    /// Blocks from which nothing can be had before the next collection.
    pub full: Stack,
}

impl Pools {
    fn new(bins: usize) -> Pools {
        let stacks = || (0..bins).map(|_| Stack::default()).collect();
        Pools {
            free: Stack::default(),
            dirty: Stack::default(),
            part_dirty: Stack::default(),
            unswept: stacks(),
            available: stacks(),
            full: Stack::default(),
        }
    }

    /// Each pool with the state that its blocks have.
    pub fn all(&self) -> impl Iterator<Item = (&Stack, State)> {
        let unswept = self.unswept.iter().map(|s| (s, State::PooledUnswept));
        let available = self.available.iter().map(|s| (s, State::PooledAvailable));
        let of_no_bin = [
            (&self.free, State::Free),
            (&self.dirty, State::Free),
            (&self.part_dirty, State::Free),
            (&self.full, State::PooledFull),
        ];
        of_no_bin.into_iter().chain(unswept).chain(available)
    }
}

impl<C: Config> Heap<C> {
    /// A heap without memory in the address range `range`, whole chunks, to which chunks are added as
    /// they are needed. `marks` are the mark bits of the range. A wide range costs no more than a few
    /// bytes of address space for each chunk.
    ///
    /// # Panics
    /// If the range is empty, is not made of chunks, or has 2^32 blocks or more.
    pub fn new(range: Range<usize>, marks: MarkBits) -> Heap<C> {
        Heap {
            directory: Directory::new(range),
            marks,
            dirty_pages: AtomicUsize::new(0),
            pools: Pools::new(C::BINS),
        }
    }

    /// Adds the chunk at `start`; its blocks are free. Any thread may call this at any time.
    ///
    /// # Safety
    /// The chunk must be readable and writable memory with exposed provenance, used by this heap
    /// alone as long as the heap lives.
    ///
    /// # Panics
    /// If `start` is not a chunk of the heap's range, or was added before.
    pub unsafe fn add_chunk(&self, start: usize) {
        let chunk = self.directory.add(start);
        let mut blocks = Chain::default();
        // Backwards, so that the lowest block is on top.
        for index in (0..C::CHUNK_BLOCKS).rev() {
            blocks.push(&self.directory, self.directory.link_to(chunk, index));
        }
        self.pools.free.push(&self.directory, blocks);
    }

    /// The chunks that were added, lowest address first.
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = Chunk> + '_ {
        self.directory.chunks()
    }

    /// Number of pages that are not charged (or, where blocks are charged as a whole, that no cell in reach
    /// overlaps) but may be resident.
    pub fn dirty_pages(&self) -> usize {
        self.dirty_pages.load(Relaxed)
    }

    /// Address of the first byte of `chunk`.
    pub fn chunk_start(&self, chunk: Chunk) -> usize {
        self.directory.start(chunk)
    }

    /// The block that holds the byte at `address`, if a chunk was added there.
    pub fn block_at(&self, address: usize) -> Option<&Block> {
        self.directory.block_at(address)
    }

    /// All blocks, those that are free too, lowest address first.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.chunks()
            .flat_map(|chunk| self.directory.headers(chunk))
    }

    pub(crate) fn block(&self, link: Link) -> &Block {
        self.directory.block(link)
    }

    /// Takes a block of `bin` that may have free cells on charged pages.
    pub(crate) fn adopt_unswept(&self, bin: Bin) -> Option<Link> {
        self.pools.unswept[bin.index()].pop(&self.directory)
    }

    /// Takes a block of `bin` that can grow.
    pub(crate) fn adopt_available(&self, bin: Bin) -> Option<Link> {
        self.pools.available[bin.index()].pop(&self.directory)
    }

    /// Takes a free block and gives it to `bin`: one with as many dirty pages as the bin can use, if there is one.
    /// A bin that cannot use them all would keep the others resident for nothing.
    pub(crate) fn take_free(&self, bin: Bin) -> Option<Link> {
        let pools = &self.pools;
        let fills = Shape::<C>::of(bin).usable().count_ones() as usize == C::BLOCK_PAGES;
        let order = match fills {
            true => [&pools.dirty, &pools.part_dirty, &pools.free],
            false => [&pools.part_dirty, &pools.dirty, &pools.free],
        };
        let link = order.iter().find_map(|pool| pool.pop(&self.directory))?;
        self.block(link).init(bin);
        Some(link)
    }
}
