// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a cell is freed, by the owner of its block and by others, and how a block that is empty goes back to the arena.

use super::arena::ARENA;
use super::block::Block;
use super::chunk::{block_of, Chunk};
use super::{abandoned, cell, large, options, os, secure, thread};
use crate::config::PAGE_BYTES;
use crate::thread_free::Pushed;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// A cell of so many bytes that another thread frees returns to the OS at once, if free memory does: its owner may be long in noticing.
const RESET_BYTES: usize = 1 << 20;

/// Frees a cell; in secure mode, 0 is nothing to free.
///
/// # Safety
/// The cell came from this allocator, and is not used any further.
#[inline(always)]
pub(crate) unsafe fn free(cell: usize) {
    if !secure::has_chunk(cell) {
        return secure::check(cell);
    }
    // SAFETY: promised by the caller, or, in secure mode, there is a chunk, and its table leads to one of its headers.
    let block = unsafe { block_of(cell) };
    let mine = block.owner.load(Relaxed) == thread::default_heap().addr();
    if mine && secure::looks_used(block, cell) {
        // A block that falls empty again and again is planned for already.
        if block.push_local(cell) == 0 && block.retire.get() == 0 {
            fell_empty(block);
        }
    } else {
        free_elsewhere(block, cell);
    }
}

#[cold]
#[inline(never)]
fn fell_empty(block: &Block) {
    block.show_used();
    // SAFETY: a block with an owner is in a heap of its.
    unsafe { &*block.heap.load(Relaxed) }.retire(block);
}

/// Frees a cell of a block that is on the full list, or not the calling thread's, or one that may be free already.
#[cold]
#[inline(never)]
fn free_elsewhere(block: &'static Block, cell: usize) {
    if !block.is_mine() {
        return free_of_other(block, cell);
    }
    if secure::ON {
        secure::check(cell);
        if block.is_single() {
            // Its memory goes back at once: of two threads that free it at the same time, the second finds the link of the first.
            secure::take(block, cell);
        }
    }
    free_own(block, cell);
}

/// Frees a cell of a block of the calling thread.
pub(crate) fn free_own(block: &Block, cell: usize) {
    let used = block.push_local(cell);
    if used == 0 {
        fell_empty(block);
    } else if block.is_full_listed() {
        // SAFETY: a block with an owner is in a heap of its.
        unsafe { &*block.heap.load(Relaxed) }.leave_full(block);
    }
}

fn free_of_other(block: &'static Block, cell: usize) {
    secure::take(block, cell);
    // SAFETY: the cell is in our hand, and it is on no list yet.
    let link = |next| unsafe { cell::link(cell, next, &block.secret) };
    match block.thread_free.push(cell, link) {
        Pushed::Listed => {}
        Pushed::Delay => {
            let unmapped = is_huge(block) && large::unmap_freed(block, cell);
            let is_large = block.is_single() && block.cell_bytes.get() >= RESET_BYTES;
            if !unmapped && is_large && options::reset_delay().is_some() {
                // But for its first page, in which it is linked. It begins a page, and fills all of its pages.
                os::reset(cell + PAGE_BYTES, block.cell_bytes.get() - PAGE_BYTES);
            }
            let heap = block.heap.load(Acquire);
            // SAFETY: a heap stays while a free in one of its blocks is being delayed.
            unsafe { &*heap }.delayed.push(cell, link);
            block.thread_free.delayed();
        }
        Pushed::Claimed => {
            // SAFETY: there is always one, and it stays while the thread runs.
            let heap = unsafe { &*thread::default_heap() };
            abandoned::claimed_by_free(heap, block, cell);
        }
    }
}

/// Gives the memory of a block back, which is in no queue, and all of whose cells were freed.
pub(crate) fn release(block: &Block) {
    if secure::ON {
        block.check_empty();
    }
    destroy(block);
}

/// Gives the memory of a block back, which is in no queue, and of whose cells none is used any further.
pub(crate) fn destroy(block: &Block) {
    debug_assert!(block.used.get() == 0 && block.thread_free.first() == 0);
    block.show_used();
    block.owner.store(0, Relaxed);
    block.secret.set_area(0);
    let chunk = Chunk::of(block);
    if chunk.mapping_bytes.get() == 0 {
        ARENA.give(block);
    } else {
        ARENA.counters.huge_now.fetch_sub(1, Relaxed);
        let (start, bytes) = (chunk.start(), chunk.mapping_bytes.get());
        secure::chunk_ends(start);
        // Where that would make two mappings of one and the kernel has none to spare, the addresses are lost.
        if !os::unmap(start, bytes) {
            os::reset(start, bytes);
        }
    }
}

/// Whether the block is the one cell of a huge chunk.
pub(crate) fn is_huge(block: &Block) -> bool {
    block.is_single() && block.pages.get() == 0
}
