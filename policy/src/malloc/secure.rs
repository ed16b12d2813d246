// SPDX-License-Identifier: MIT OR Apache-2.0
//! Secure mode, the Cargo feature `secure` (mimalloc's report, 3.5): what the program does wrong ends it with a line
//! that says what, or meets a page that cannot be touched.
//!
//! - The links of free cells are hidden by a key of the block, and are seen to lead to a cell of it when they are read.
//! - What is freed is seen to be a cell in use: its chunk is one of ours, its address the start of a cell, and its first word no
//!   hidden link to a cell of the block, nor the end of a list. The link is erased when a cell is handed out, so that the program never
//!   has one.
//! - One double free is seen later. A cell that another thread has freed in a full block waits on the heap's list of delayed frees, where its
//!   link may lead into another block: then it looks as if it were in use. A second free puts it on a list of its block, too, by which the link
//!   changes. That is seen when the owner takes the delayed frees; if the cell was handed out again before, as a list that was overwritten.
//! - Two frees of a cell at the same time: of two threads that do not own the block, the second finds the link of the first. So it is
//!   where one is the owner's and the block has no other cell. Else the cell is on two lists, or twice on one. It is seen when it is handed
//!   out the second time, when the list is walked, or when the block seems empty: each of its cells has to be on a list before its memory
//!   goes back.
//! - Cells of up to 2 KiB that were never handed out are listed in random order, page by page; of longer ones, one is listed at a time. Freed
//!   cells are handed out in the order of their list. The block that serves a bin next is a random one of two.
//! - A page without access ends each block, as long as there are no more than [`MAX_GUARDS`], the header of each chunk, and each
//!   heap.
//!
//! Without the feature, [`ON`] is false and all of this is gone from the code.

use super::block::Block;
use super::cell;
use super::chunk::{block_of, Chunk, LOG_ADDRESSES};
use super::{os, statistics};
use crate::config::{LOG_CHUNK_BYTES, PAGE_BYTES};
use crate::pages::CHUNK_PAGES;
use crate::thread_free::DelayedFree;
use std::cell::Cell;
use std::mem::offset_of;
use std::ops::Range;
use std::ptr::with_exposed_provenance_mut;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicU8, AtomicUsize};

/// Whether the mode is built in.
pub(crate) const ON: bool = cfg!(feature = "secure");
/// Pages without access at the end of a block or header.
pub(crate) const GUARD_PAGES: usize = ON as usize;
/// Guard pages of blocks at a time, which stay for the next block there: each costs two of the 65530 mappings that Linux gives a process.
const MAX_GUARDS: usize = 16_000;

/// What a block alone knows.
#[repr(C)]
pub(crate) struct Secret {
    key: Cell<usize>,
    /// Bytes of the cells that were linked once, or of the only cell; 0 once the block was released. The owner alone changes it,
    /// before it hands out a cell of what is added.
    area: AtomicUsize,
    /// Tells the multiples of the cell's bytes: see [`Block::has_cell`].
    multiple: Cell<u64>,
    /// The state of [`Secret::random`].
    random: Cell<u64>,
}

/// Bytes from its start that each allocation and each free uses.
pub(crate) const USED_EACH_TIME: usize = offset_of!(Secret, random);

impl Secret {
    pub const fn new() -> Self {
        Secret {
            key: Cell::new(0),
            area: AtomicUsize::new(0),
            multiple: Cell::new(0),
            random: Cell::new(0),
        }
    }

    /// Chooses another, for `cells` of `cell_bytes`, of which more than one are still to be linked.
    pub fn renew(&self, numbers: &Numbers, cell_bytes: usize, cells: u32) {
        if ON {
            self.key.set(numbers.next() as usize);
            self.set_area(if cells == 1 { cell_bytes } else { 0 });
            if self.random.get() == 0 {
                self.random.set(numbers.next());
            }
            self.multiple.set(if cells == 1 {
                1
            } else {
                u64::MAX / cell_bytes as u64 + 1
            });
        }
    }

    /// What is written into a free cell for the link `next`. Its halves change places, so that who overwrites the first bytes alone changes
    /// the upper bits of an address, too.
    #[inline(always)]
    pub fn hide(&self, next: usize) -> usize {
        if !ON {
            return next;
        }
        (next ^ self.key.get()).rotate_left(32)
    }

    /// The link that was hidden as `word`.
    #[inline(always)]
    pub fn show(&self, word: usize) -> usize {
        if !ON {
            return word;
        }
        word.rotate_left(32) ^ self.key.get()
    }

    /// The first so many bytes of the block are cells that were linked.
    pub fn set_area(&self, bytes: usize) {
        if ON {
            self.area.store(bytes, Relaxed);
        }
    }

    #[inline(always)]
    fn area(&self) -> usize {
        self.area.load(Relaxed)
    }

    /// Whether an offset below 4 GiB is a multiple of the cell's bytes, without a division (Lemire, Kaser and Kurz, Faster
    /// remainder by direct computation, 2019).
    #[inline(always)]
    fn is_multiple(&self, offset: usize) -> bool {
        let multiple = self.multiple.get();
        (offset as u64).wrapping_mul(multiple) < multiple
    }

    /// Random bits (Steele, Lea and Flood's SplitMix, which suffices to order cells).
    pub fn random(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// True once in so many times, a power of two; never without the mode.
    pub fn once_in(&self, times: u64) -> bool {
        ON && self.random() % times == 0
    }
}

/// Random numbers from the OS, fetched several at a time. A heap has its own.
pub(crate) struct Numbers {
    left: Cell<usize>,
    words: [Cell<u64>; if ON { 32 } else { 0 }],
}

impl Numbers {
    #[allow(clippy::declare_interior_mutable_const)] // It is copied, never used in place.
    pub const NONE: Numbers = Numbers {
        left: Cell::new(0),
        words: [const { Cell::new(0) }; if ON { 32 } else { 0 }],
    };

    /// A number that nobody else gets.
    fn next(&self) -> u64 {
        if self.left.get() == 0 {
            os::random(&self.words);
            self.left.set(self.words.len());
        }
        let left = self.left.get() - 1;
        self.left.set(left);
        self.words[left].take()
    }

    /// A forked process does not use the numbers of the other one.
    pub fn forget(&self) {
        self.left.set(0);
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

/// Chunks in the address space that a program has.
const MAX_CHUNKS: usize = if ON {
    1 << (LOG_ADDRESSES - LOG_CHUNK_BYTES)
} else {
    0
};
/// Of each of them whether it is there.
static CHUNKS: [AtomicU8; MAX_CHUNKS] = [const { AtomicU8::new(NEVER) }; MAX_CHUNKS];
const NEVER: u8 = 0;
const THERE: u8 = 1;
/// It was a huge chunk.
const GONE: u8 = 2;

/// Says that there is a chunk at `start`.
pub(crate) fn chunk_begins(start: usize) {
    if ON {
        CHUNKS[start >> LOG_CHUNK_BYTES].store(THERE, Relaxed);
    }
}

/// Says that the huge chunk at `start` is about to go.
pub(crate) fn chunk_ends(start: usize) {
    if ON {
        CHUNKS[start >> LOG_CHUNK_BYTES].store(GONE, Relaxed);
    }
}

/// Whether the chunk that `address` would be in is there, or was, or never.
#[inline(always)]
fn chunk_state(address: usize) -> u8 {
    let chunk = CHUNKS.get(Chunk::start_of(address) >> LOG_CHUNK_BYTES);
    chunk.map_or(NEVER, |state| state.load(Relaxed))
}

/// Whether `address` is in a chunk; without the mode, as nobody knows, true.
#[inline(always)]
pub(crate) fn has_chunk(address: usize) -> bool {
    !ON || chunk_state(address) == THERE
}

/// Whether `address`, in a chunk, is surely that of a cell in use of this block; without the mode, as nobody knows, true.
#[inline(always)]
pub(crate) fn looks_used(block: &Block, address: usize) -> bool {
    if !ON {
        return true;
    }
    if !block.has_cell(address) {
        return false;
    }
    // SAFETY: it is a cell's first word, which nobody but the caller writes.
    let next = unsafe { cell::next(address, &block.secret) };
    next > DelayedFree::END && !block.spans(next)
}

/// Ends the program unless `address` is that of a cell in use, or 0. It is about to be freed, or to get another length, or its size is
/// asked for.
#[inline(never)]
pub(crate) fn check(address: usize) {
    if !ON {
        return;
    }
    if !has_chunk(address) {
        return no_chunk(address);
    }
    // SAFETY: there is a chunk, and its table leads to one of its headers, whatever the address is.
    let block = unsafe { block_of(address) };
    if !block.has_cell(address) {
        no_cell(block, address);
    }
    // A block of one cell is on the full list: another thread that frees the cell ends this state.
    if block.is_single() && block.is_mine() && !block.thread_free.is_delayed() {
        die(Wrong::DoubleFree, address);
    }
    // SAFETY: it is a cell's first word. Of one that is in use another thread may be writing it: its size alone may be asked for.
    let word = unsafe { AtomicUsize::from_ptr(with_exposed_provenance_mut(address)) }.load(Relaxed);
    let next = block.secret.show(word);
    // That which ends a list, on one of the block's or on the heap's.
    if next <= DelayedFree::END {
        die(Wrong::DoubleFree, address);
    }
    if block.has_cell(next) {
        maybe_free(block, address);
    }
}

#[cold]
fn no_chunk(address: usize) {
    if address == 0 {
        return;
    }
    if chunk_state(address) == GONE {
        die(Wrong::DoubleFree, address);
    }
    die(Wrong::ForeignPointer, address)
}

#[cold]
fn no_cell(block: &Block, address: usize) -> ! {
    let bytes = block.pages.get() as usize * PAGE_BYTES;
    if block.secret.area() == 0 && address.wrapping_sub(block.start.get()) < bytes {
        // The block was released, as all of its cells were free.
        die(Wrong::DoubleFree, address);
    }
    die(Wrong::ForeignPointer, address)
}

/// The first word of the cell would be that of a free one. The owner can see whether it is: the program may, though with 51
/// random bits, have written such a word.
#[cold]
fn maybe_free(block: &Block, address: usize) {
    if !block.is_mine() || block.is_free(address) {
        die(Wrong::DoubleFree, address);
    }
}

/// Makes the first word of a cell that is freed a hidden link, and ends the program unless it was a cell in use. Of two threads that free
/// one at the same time, the second finds the link. To look first would cost a miss of its own: the word is in another processor's cache.
#[inline(always)]
pub(crate) fn take(block: &Block, cell: usize) {
    if !ON {
        return;
    }
    if !block.has_cell(cell) {
        no_cell(block, cell);
    }
    // SAFETY: cells are at least 8 bytes at multiples of 8, and the program gave this one back.
    let word = unsafe { AtomicUsize::from_ptr(with_exposed_provenance_mut(cell)) };
    let next = block.secret.show(word.swap(block.secret.hide(0), Relaxed));
    if next == DelayedFree::END || block.may_link(next) {
        die(Wrong::DoubleFree, cell);
    }
}

/// Ends the program if there are no cells `left` that a list may lead to when it leads to this one: it is on the list twice.
#[inline(always)]
pub(crate) fn check_left(left: u32, cell: usize) {
    if left == 0 {
        die(Wrong::DoubleFree, cell);
    }
}

/// Ends the program unless `cell`, which a list leads to, is one of the block; the link was in the cell at `from`.
#[inline(always)]
pub(crate) fn check_link(block: &Block, from: usize, cell: usize) {
    // The key makes any address of what was overwritten, and few of all addresses are in the block.
    if ON && !block.spans(cell) && cell != 0 {
        die(Wrong::Overwritten, from);
    }
}

/// Ends the program if `cell`, which waited on the list of delayed frees with the link `next`, is on a list of its block, too. That has
/// changed the link to one of the block's. To look at each cell would cost misses: what other threads freed is on these lists.
pub(crate) fn check_waited(block: &Block, cell: usize, next: usize) {
    if ON && block.may_link(next) && block.is_free(cell) {
        die(Wrong::DoubleFree, cell);
    }
}

/// Ends the program unless `cell`, which the list of delayed frees leads to, is one, or its end; the link was in the cell at `from`.
pub(crate) fn check_delayed(from: usize, cell: usize) {
    if !ON || cell == DelayedFree::END {
        return;
    }
    // SAFETY: there is a chunk, and its table leads to one of its headers, whatever the address is.
    if !has_chunk(cell) || !unsafe { block_of(cell) }.has_cell(cell) {
        die(Wrong::Overwritten, from);
    }
}

impl Block {
    /// Whether `address` is in one of its cells.
    #[inline(always)]
    fn spans(&self, address: usize) -> bool {
        address.wrapping_sub(self.start.get()) < self.secret.area()
    }

    /// Whether one of its cells begins at `address`.
    #[inline(always)]
    pub(crate) fn has_cell(&self, address: usize) -> bool {
        let offset = address.wrapping_sub(self.start.get());
        offset < self.secret.area() && self.secret.is_multiple(offset)
    }

    /// Whether `next` is what a cell on a list of the block has for its successor.
    #[inline(always)]
    fn may_link(&self, next: usize) -> bool {
        next == 0 || self.has_cell(next)
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
    /// them, and the others such as any. False where the OS refuses access to one: it has no mapping or no memory to spare.
    pub fn set(&self, chunk: &Chunk, pages: Range<usize>) -> bool {
        if !ON {
            return true;
        }
        let last = pages.end - 1;
        let stale = |&page: &usize| self.has(page);
        let first = (pages.start..last).find(stale);
        if let Some((from, to)) = first.zip((pages.start..last).rfind(stale)) {
            if !self.remove(chunk, from..to + 1) {
                return false;
            }
        }
        let few = GUARDS.load(Relaxed) < MAX_GUARDS;
        if !self.has(last) && few && os::protect(chunk.start() + last * PAGE_BYTES, PAGE_BYTES) {
            self.0[last / 64].fetch_or(1 << (last % 64), Relaxed);
            GUARDS.fetch_add(1, Relaxed);
        }
        true
    }

    /// The pages of the chunk were unmapped.
    pub fn forget(&self) {
        for word in &self.0 {
            GUARDS.fetch_sub(word.swap(0, Relaxed).count_ones() as usize, Relaxed);
        }
    }

    fn has(&self, page: usize) -> bool {
        self.0[page / 64].load(Relaxed) >> (page % 64) & 1 != 0
    }

    /// Gives access to pages of the caller's, by one call of the OS. Where that fails, what has access nevertheless counts as a guard still.
    fn remove(&self, chunk: &Chunk, pages: Range<usize>) -> bool {
        let start = chunk.start() + pages.start * PAGE_BYTES;
        let removed = os::unprotect(start, pages.len() * PAGE_BYTES);
        if removed {
            for page in pages.filter(|&page| self.has(page)) {
                self.0[page / 64].fetch_and(!(1 << (page % 64)), Relaxed);
                GUARDS.fetch_sub(1, Relaxed);
            }
        }
        removed
    }
}

/// Makes the last page before `end`, which is that of something that stays until it is unmapped, one without access.
pub(crate) fn guard(end: usize) {
    if ON {
        // Where the OS has no mapping to spare, the page is a gap.
        os::protect(end - PAGE_BYTES, PAGE_BYTES);
    }
}
