// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two choices of a build, block size and accounting, and the sizes that follow from them.

use crate::size_class::{bins_up_to, Bin};

/// log2 of the bytes in an OS page.
pub const LOG_PAGE_BYTES: u32 = 12;
/// Bytes in an OS page, the unit of charging.
pub const PAGE_BYTES: usize = 1 << LOG_PAGE_BYTES;
/// log2 of the bytes in a huge page. For loom, that of a chunk.
pub const LOG_HUGE_PAGE_BYTES: u32 = if cfg!(loom) { LOG_CHUNK_BYTES } else { 21 };
/// Bytes in a huge page, which the OS can have in place of so many small ones.
pub const HUGE_PAGE_BYTES: usize = 1 << LOG_HUGE_PAGE_BYTES;
/// log2 of the bytes in a chunk. For loom, which tries every interleaving, a chunk is small.
pub const LOG_CHUNK_BYTES: u32 = if cfg!(loom) { 18 } else { 22 };
/// Bytes in a chunk, the unit in which the embedder gives address space to a [`Heap`](crate::Heap).
pub const CHUNK_BYTES: usize = 1 << LOG_CHUNK_BYTES;

/// Cells above so many bytes have longer blocks than the others, as in mimalloc ("Mimalloc: Free List Sharding in Action", section 3):
/// one of the usual length holds so few that a thread needs the next one as often as it allocates.
pub const SMALL_CELL_BYTES: usize = 8 << 10;

/// What is charged to the heap when cells of a block can be handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// The pages that those cells overlap.
    Page,
    /// The whole block, with the first of its cells.
    Block,
}

/// A build of the policy: implemented by [`Blocks`].
pub trait Config: Copy + Send + Sync + 'static {
    /// log2 of [`Config::BLOCK_BYTES`].
    const LOG_BLOCK_BYTES: u32;
    /// What is charged.
    const ACCOUNTING: Accounting;

    /// Bytes in the longest block of cells up to [`SMALL_CELL_BYTES`]; also the largest object in a cell, because a block has no
    /// header inside it.
    const BLOCK_BYTES: usize = 1 << Self::LOG_BLOCK_BYTES;
    /// OS pages in that block.
    const BLOCK_PAGES: usize = Self::BLOCK_BYTES / PAGE_BYTES;
    /// OS pages in the longest block of larger cells: four times as many, and at most 64, so that one word can tell something about
    /// each of them. Where blocks are charged as a whole, all have one length.
    const MEDIUM_BLOCK_PAGES: usize = match Self::ACCOUNTING {
        Accounting::Page if Self::BLOCK_PAGES <= 16 => 4 * Self::BLOCK_PAGES,
        Accounting::Page => 64,
        Accounting::Block => Self::BLOCK_PAGES,
    };
    /// Number of bins whose cells fit into a block.
    const BINS: usize = bins_up_to(Self::BLOCK_BYTES);

    /// The bin for an object of `size` bytes at a multiple of `align` bytes, or `None` if the
    /// object is too large for a block or the alignment is above 16.
    #[inline(always)]
    fn bin(size: usize, align: usize) -> Option<Bin> {
        if align > 16 || size > Self::BLOCK_BYTES {
            return None;
        }
        // Every cell size is a multiple of 8, and every one that holds a multiple of 16 bytes of
        // payload is itself a multiple of 16.
        let size = if align > 8 {
            (size.max(1) + 15) & !15
        } else {
            size
        };
        Some(Bin::holding(size))
    }
}

/// The build with blocks of `1 << LOG` bytes; `BY_BLOCK` charges whole blocks in place of pages.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<const LOG: u32, const BY_BLOCK: bool>;

impl<const LOG: u32, const BY_BLOCK: bool> Config for Blocks<LOG, BY_BLOCK> {
    const LOG_BLOCK_BYTES: u32 = {
        assert!(
            LOG >= LOG_PAGE_BYTES && LOG <= LOG_PAGE_BYTES + 6,
            "the block size must be 4, 8, 16, 32, 64, 128 or 256 KiB"
        );
        LOG
    };
    const ACCOUNTING: Accounting = if BY_BLOCK {
        Accounting::Block
    } else {
        Accounting::Page
    };
}

/// 64 KiB blocks, charged by the page: build `ms-64k`.
pub type Blocks64K = Blocks<16, false>;
/// 64 KiB blocks, charged as a whole: build `ms-64k-block`.
pub type Blocks64KByBlock = Blocks<16, true>;
/// 4 KiB blocks, where page and block are the same: build `ms-4k`.
pub type Blocks4K = Blocks<12, false>;

/// The configuration that the crate's features choose, for an embedder that is built for one.
pub type Build = Blocks<CHOSEN_LOG_BLOCK_BYTES, { cfg!(feature = "charge-blocks") }>;

const CHOSEN_LOG_BLOCK_BYTES: u32 = {
    let features = [
        cfg!(feature = "block-4k"),
        cfg!(feature = "block-8k"),
        cfg!(feature = "block-16k"),
        cfg!(feature = "block-32k"),
        cfg!(feature = "block-64k"),
        cfg!(feature = "block-128k"),
        cfg!(feature = "block-256k"),
    ];
    let (mut index, mut log) = (0, 0);
    while index < features.len() {
        if features[index] {
            assert!(log == 0, "features name two block sizes: choose one");
            log = LOG_PAGE_BYTES + index as u32;
        }
        index += 1;
    }
    if log == 0 {
        Blocks64K::LOG_BLOCK_BYTES
    } else {
        log
    }
};
