// SPDX-License-Identifier: MIT OR Apache-2.0
//! Secure mode, the Cargo feature `secure` (mimalloc's report, 3.5): what the program does wrong ends it with a line
//! that says what, or meets a page that cannot be touched.
//!
//! - The links of free cells are hidden by a key of the block, and are seen to lead to a cell of it when they are read.
//! - What is freed is seen to be a cell in use: its chunk is one of ours, its address the start of a cell, and its first word no
//!   hidden link. The link is erased when a cell is handed out, so that the program never has one.
//! - Cells of a new page are listed in random order, and the block that serves a bin next is a random one.
//! - A page without access ends each block, the header of each chunk, and each heap.
//!
//! Without the feature, [`ON`] is false and all of this is gone from the code.

use super::block::Block;
use super::cell;
use super::chunk::{block_of, Chunk};
use super::{os, statistics, thread};
use crate::config::{LOG_CHUNK_BYTES, PAGE_BYTES};
use crate::pages::CHUNK_PAGES;
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// Whether the mode is built in.
pub(crate) const ON: bool = cfg!(feature = "secure");
/// Pages without access at the end of a block or header.
pub(crate) const GUARD_PAGES: usize = ON as usize;
/// Blocks with a guard page at a time: each costs two of the 65530 mappings that Linux gives a process.
const MAX_GUARDS: usize = 16_000;

/// What a block alone knows.
pub(crate) struct Secret {
    key: Cell<usize>,
    /// The state of [`Secret::random`].
    random: Cell<u64>,
    /// Tells the multiples of the cell's bytes: see [`Block::has_cell`].
    multiple: Cell<u64>,
    /// Bytes of all cells; 0 once the block was released.
    area: Cell<usize>,
}

impl Secret {
    pub const fn new() -> Self {
        Secret {
            key: Cell::new(0),
            random: Cell::new(0),
            multiple: Cell::new(0),
            area: Cell::new(0),
        }
    }

    /// Chooses another, for `cells` of `cell_bytes`.
    pub fn renew(&self, cell_bytes: usize, cells: u32) {
        if ON {
            let [key, random] = os::random();
            self.key.set(key as usize);
            self.area.set(cell_bytes * cells as usize);
            self.random.set(random);
            self.multiple.set(if cells == 1 {
                1
            } else {
                u64::MAX / cell_bytes as u64 + 1
            });
        }
    }

    /// What is written into a free cell for the link `next`.
    #[inline(always)]
    pub fn hide(&self, next: usize) -> usize {
        if !ON {
            return next;
        }
        let key = self.key.get();
        (next ^ key).rotate_left(key as u32 & 63)
    }

    /// The link that was hidden as `word`.
    #[inline(always)]
    pub fn show(&self, word: usize) -> usize {
        if !ON {
            return word;
        }
        let key = self.key.get();
        word.rotate_right(key as u32 & 63) ^ key
    }

    /// The block was released.
    pub fn end(&self) {
        if ON {
            self.area.set(0);
        }
    }

    /// Whether an offset below 4 GiB is a multiple of the cell's bytes, without a division (Lemire, Kaser and Kurz, Faster
    /// remainder by direct computation, 2019).
    #[inline(always)]
    fn is_multiple(&self, offset: usize) -> bool {
        let multiple = self.multiple.get();
        (offset as u64).wrapping_mul(multiple) < multiple
    }

    /// A random number below `end` (Steele, Lea and Flood's SplitMix, which suffices to order cells).
    pub fn random(&self, end: u32) -> u32 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((((mixed ^ (mixed >> 31)) >> 32) * u64::from(end)) >> 32) as u32
    }

    /// True half of the time; never without the mode.
    pub fn coin(&self) -> bool {
        ON && self.random(2) == 0
    }
}

/// What the program did.
#[derive(Clone, Copy)]
pub(crate) enum Wrong {
    DoubleFree,
    ForeignPointer,
    Overwritten,
}

/// Says what the program did wrong, and where, and ends it.
#[cold]
#[inline(never)]
pub(crate) fn die(wrong: Wrong, cell: usize) -> ! {
    let what = match wrong {
        Wrong::DoubleFree => "double free of the cell at",
        Wrong::ForeignPointer => "a pointer is freed that is no cell's:",
        Wrong::Overwritten => "a free list was overwritten in the cell at",
    };
    statistics::print_line(format_args!("{what} {cell:#x}"));
    // SAFETY: it may be called at any time.
    unsafe { libc::abort() }
}

/// Words of a set of all chunks of the address space that a program has, of 47 bits.
const CHUNK_WORDS: usize = if ON {
    1 << (47 - LOG_CHUNK_BYTES - 6)
} else {
    0
};
/// The chunks that there are.
static CHUNKS: [AtomicU64; CHUNK_WORDS] = [const { AtomicU64::new(0) }; CHUNK_WORDS];
/// The huge chunks that there were.
static GONE: [AtomicU64; CHUNK_WORDS] = [const { AtomicU64::new(0) }; CHUNK_WORDS];

fn bit(chunk: usize) -> (usize, u64) {
    let index = chunk >> LOG_CHUNK_BYTES;
    (index / 64, 1 << (index % 64))
}

/// Says that there is a chunk at `start`.
pub(crate) fn chunk_begins(start: usize) {
    if ON {
        let (word, bit) = bit(start);
        CHUNKS[word].fetch_or(bit, Relaxed);
    }
}

/// Says that the huge chunk at `start` is about to go.
pub(crate) fn chunk_ends(start: usize) {
    if ON {
        let (word, bit) = bit(start);
        CHUNKS[word].fetch_and(!bit, Relaxed);
        GONE[word].fetch_or(bit, Relaxed);
    }
}

#[inline(always)]
fn is_in(set: &[AtomicU64; CHUNK_WORDS], chunk: usize) -> bool {
    let (word, bit) = bit(chunk);
    set.get(word)
        .is_some_and(|word| word.load(Relaxed) & bit != 0)
}

/// Ends the program unless `address` is that of a cell in use. It is about to be freed, or made longer.
#[inline(always)]
pub(crate) fn check(address: usize) {
    if !ON {
        return;
    }
    if !is_in(&CHUNKS, Chunk::start_of(address)) {
        no_chunk(address);
    }
    // SAFETY: there is a chunk, and its table leads to one of its headers, whatever the address is.
    let block = unsafe { block_of(address) };
    if !block.has_cell(address) {
        no_cell(block, address);
    }
    // SAFETY: it is a cell's first word, which nobody but the caller writes.
    let next = unsafe { cell::next(address, &block.secret) };
    if next == 0 || block.has_cell(next) {
        maybe_free(block, address);
    }
}

#[cold]
fn no_chunk(address: usize) -> ! {
    if is_in(&GONE, Chunk::start_of(address)) {
        die(Wrong::DoubleFree, address);
    }
    die(Wrong::ForeignPointer, address)
}

#[cold]
fn no_cell(block: &Block, address: usize) -> ! {
    let bytes = block.pages.get() as usize * PAGE_BYTES;
    if block.secret.area.get() == 0 && address.wrapping_sub(block.start.get()) < bytes {
        // The block was released, as all of its cells were free.
        die(Wrong::DoubleFree, address);
    }
    die(Wrong::ForeignPointer, address)
}

/// The first word of the cell would be that of a free one. The owner can see whether it is: the program may, though with 51
/// random bits, have written such a word.
#[cold]
fn maybe_free(block: &Block, address: usize) {
    if block.owner() != thread::default_heap().addr() || block.is_free(address) {
        die(Wrong::DoubleFree, address);
    }
}

/// Ends the program unless `cell`, which a list leads to, is one of the block; the link was in the cell at `from`.
#[inline(always)]
pub(crate) fn check_link(block: &Block, from: usize, cell: usize) {
    if ON && cell != 0 && !block.has_cell(cell) {
        die(Wrong::Overwritten, from);
    }
}

/// Ends the program unless `cell`, which the list of delayed frees leads to, is one; the link was in the cell at `from`.
pub(crate) fn check_delayed(from: usize, cell: usize) {
    if !ON {
        return;
    }
    let chunk = is_in(&CHUNKS, Chunk::start_of(cell));
    // SAFETY: there is a chunk, and its table leads to one of its headers, whatever the address is.
    if !chunk || !unsafe { block_of(cell) }.has_cell(cell) {
        die(Wrong::Overwritten, from);
    }
}

impl Block {
    /// Whether one of its cells begins at `address`.
    #[inline(always)]
    pub(crate) fn has_cell(&self, address: usize) -> bool {
        let offset = address.wrapping_sub(self.start.get());
        offset < self.secret.area.get() && self.secret.is_multiple(offset)
    }

    /// Whether the cell is on one of the block's lists, which is the calling thread's.
    pub(crate) fn is_free(&self, cell: usize) -> bool {
        let lists = [
            self.free.get(),
            self.local_free.get(),
            self.thread_free.first(),
        ];
        // SAFETY: the owner alone takes cells from these lists; others put some before the first.
        lists
            .into_iter()
            .any(|list| unsafe { self.cells(list) }.any(|free| free == cell))
    }
}

static GUARDS: AtomicUsize = AtomicUsize::new(0);

/// The pages of a chunk without access: those at the end of a block, and of one that was there and may be again.
pub(crate) struct Guards([AtomicU64; if ON { CHUNK_PAGES / 64 } else { 0 }]);

impl Guards {
    /// Makes the last of `pages`, which the caller has claimed for a block, one without access, unless there are too many of
    /// them, and the others such as any.
    pub fn set(&self, chunk: &Chunk, pages: Range<usize>) {
        if !ON {
            return;
        }
        let last = pages.end - 1;
        for page in (pages.start..last).filter(|&page| self.has(page)) {
            self.remove(chunk, page);
        }
        let few = GUARDS.load(Relaxed) < MAX_GUARDS;
        if !self.has(last) && few && os::protect(chunk.start() + last * PAGE_BYTES, PAGE_BYTES) {
            self.0[last / 64].fetch_or(1 << (last % 64), Relaxed);
            GUARDS.fetch_add(1, Relaxed);
        }
    }

    /// The chunk was mapped anew.
    pub fn forget(&self) {
        for word in &self.0 {
            GUARDS.fetch_sub(word.swap(0, Relaxed).count_ones() as usize, Relaxed);
        }
    }

    fn has(&self, page: usize) -> bool {
        self.0[page / 64].load(Relaxed) >> (page % 64) & 1 != 0
    }

    fn remove(&self, chunk: &Chunk, page: usize) {
        if !os::unprotect(chunk.start() + page * PAGE_BYTES, PAGE_BYTES) {
            // Without a mapping to spare, the page could not be used.
            os::print(b"shardsweep: the OS refuses access to a page\n");
            // SAFETY: it may be called at any time.
            unsafe { libc::abort() }
        }
        self.0[page / 64].fetch_and(!(1 << (page % 64)), Relaxed);
        GUARDS.fetch_sub(1, Relaxed);
    }
}

/// Makes the last page before `end`, which is that of something that stays until it is unmapped, one without access.
pub(crate) fn guard(end: usize) {
    if ON {
        // Where the OS has no mapping to spare, the page is a gap.
        os::protect(end - PAGE_BYTES, PAGE_BYTES);
    }
}
