// SPDX-License-Identifier: MIT OR Apache-2.0
//! A chunk: 4 MiB of address space at a multiple of 4 MiB, whose first pages hold the headers of its blocks.
//!
//! From the address of a cell one subtraction and mask give the chunk, and one byte of its table the header. A block
//! has [`MIN_BLOCK_PAGES`] pages or more, so no two begin in the same group of so many: the number of that group is
//! the number of the header.
//!
//! A *huge* chunk holds one cell, and is a mapping of its own, of any length.

use super::block::Block;
use super::secure;
use crate::config::{CHUNK_BYTES, LOG_PAGE_BYTES, PAGE_BYTES};
use crate::pages::{Pages, CHUNK_PAGES};
use std::cell::Cell;
use std::mem::offset_of;
use std::ops::Range;
use std::ptr::with_exposed_provenance;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicU8};

/// The addresses that a program has are below this power of two.
pub(crate) const LOG_ADDRESSES: u32 = 47;
/// Pages of the shortest block.
pub(crate) const MIN_BLOCK_PAGES: usize = 16;
/// A block begins at a multiple of so many pages: with guard pages so that the ends of most blocks stay where they are.
pub(crate) const BLOCK_ALIGN: usize = if secure::ON { MIN_BLOCK_PAGES } else { 1 };
const SLOTS: usize = CHUNK_PAGES / MIN_BLOCK_PAGES;
/// Pages of a chunk that hold its header.
pub(crate) const HEADER_PAGES: usize =
    std::mem::size_of::<Chunk>().div_ceil(PAGE_BYTES) + secure::GUARD_PAGES;
/// Pages of the longest block.
pub(crate) const MAX_BLOCK_PAGES: usize = CHUNK_PAGES - HEADER_PAGES;

/// The header of a chunk. All zero is a chunk without a free page.
#[repr(C)]
pub(crate) struct Chunk {
    /// For each page the number of the header of its block.
    slots: [Cell<u8>; CHUNK_PAGES],
    pub pages: Pages,
    /// For each header whether the block may be abandoned.
    pub abandoned: AtomicU64,
    /// The bins of those blocks, as far as a search goes: what is certain only the owner of the block knows.
    pub abandoned_bins: [AtomicU8; SLOTS],
    pub guards: secure::Guards,
    /// Whether its pages but the header are not mapped. They are claimed then.
    pub parked: AtomicBool,
    /// Number of the chunk in the arena.
    pub index: Cell<usize>,
    /// Of a huge chunk the bytes of its mapping; otherwise 0.
    pub mapping_bytes: Cell<usize>,
    blocks: [Block; SLOTS],
}

// SAFETY: the byte of a page is written by whoever has claimed the page, before it hands out a cell there.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// The header at `start`.
    ///
    /// # Safety
    /// A chunk is mapped there, and stays.
    #[inline(always)]
    pub unsafe fn at(start: usize) -> &'static Chunk {
        // SAFETY: promised by the caller; zero is a valid chunk.
        unsafe { &*with_exposed_provenance::<Chunk>(start) }
    }

    /// The chunk of a block that is in use.
    pub fn of(block: &Block) -> &'static Chunk {
        debug_assert_ne!(
            block.start.get(),
            0,
            "a header of no block has no cells to tell the chunk"
        );
        // SAFETY: the cells of a block lie in its chunk, which stays as long as anybody has the block.
        unsafe { Chunk::at(Chunk::start_of(block.start.get())) }
    }

    /// The chunk comes into use.
    pub fn begin(&self) {
        secure::chunk_begins(self.start());
        secure::guard(self.start() + HEADER_PAGES * PAGE_BYTES);
    }

    pub fn start(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Where the pages of its blocks begin, and their bytes.
    pub fn block_pages(&self) -> (usize, usize) {
        let header = HEADER_PAGES * PAGE_BYTES;
        (self.start() + header, CHUNK_BYTES - header)
    }

    /// The chunk that `address` is in. The start of a chunk is no address of a cell, so one there is the first of the
    /// cell of a huge chunk, whose header is 4 MiB below.
    #[inline(always)]
    pub fn start_of(address: usize) -> usize {
        address.wrapping_sub(1) & !(CHUNK_BYTES - 1)
    }

    /// The number of the header for a block that begins at `page`.
    pub fn slot(page: usize) -> usize {
        page / MIN_BLOCK_PAGES
    }

    /// Header `slot`.
    pub fn block(&self, slot: usize) -> &'static Block {
        let block = std::ptr::from_ref(&self.blocks[slot]);
        // SAFETY: a chunk stays as long as anybody has a block in it.
        unsafe { &*block }
    }

    /// All headers, also those that are of no block now.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Says that `pages` belong to the block with header `slot`.
    pub fn set_slots(&self, pages: Range<usize>, slot: usize) {
        self.slots[pages]
            .iter()
            .for_each(|page| page.set(slot as u8));
    }
}

/// The block that holds the cell at `address`.
///
/// # Safety
/// The address is that of a cell, of this allocator.
#[inline(always)]
pub(crate) unsafe fn block_of(address: usize) -> &'static Block {
    let chunk = Chunk::start_of(address);
    let page = (address >> LOG_PAGE_BYTES) % CHUNK_PAGES;
    // SAFETY: promised by the caller; the table is the first field of a chunk.
    let slot = unsafe { with_exposed_provenance::<u8>(chunk + page).read() } as usize;
    let header = chunk + offset_of!(Chunk, blocks) + slot * std::mem::size_of::<Block>();
    // SAFETY: it is a field of the chunk, and stays while a cell of the block is in use.
    unsafe { &*with_exposed_provenance::<Block>(header) }
}
const _: () = assert!(offset_of!(Chunk, slots) == 0 && SLOTS == 64);
