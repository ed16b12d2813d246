// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks whose thread has ended while cells of them are in use. Whoever frees a cell of one becomes its owner, if only for
//! a moment; so does a thread that needs a block and finds one of its bin.

use super::arena::ARENA;
use super::block::Block;
use super::chunk::Chunk;
use super::heap::{Heap, EMPTY_HEAP};
use super::release;
use crate::size_class::Bin;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;

/// Abandoned blocks that one search tries to become the owner of, at most.
const MAX_VISITS: usize = 32;
/// Chunks that one search looks through, at most.
const MAX_CHUNKS: usize = 64;

/// Abandons a block of the calling thread, which ends, that is in no queue, and in which no free is delayed.
pub(crate) fn abandon(block: &'static Block) {
    if disown(block) {
        ARENA.counters.blocks_abandoned.fetch_add(1, Relaxed);
    }
}

/// Gives a block that is in no queue no owner. False if it was empty, and is released.
fn disown(block: &'static Block) -> bool {
    block.owner.store(0, Relaxed);
    block.heap.store(null_mut(), Relaxed);
    loop {
        block.collect();
        if block.used.get() == 0 {
            release::release(block);
            return false;
        }
        block.show_used();
        note(block, true);
        if block.thread_free.abandon() {
            return true;
        }
        note(block, false);
    }
}

/// Says in the chunk whether the block may be abandoned, so that a search finds it. Huge ones are found by their frees alone.
fn note(block: &Block, abandoned: bool) {
    if release::is_huge(block) {
        return;
    }
    let chunk = Chunk::of(block);
    let slot = Chunk::slot(block.first_page.get() as usize);
    let bin = block.bin.get();
    let of_bin = ARENA.abandoned.get(bin as usize);
    if abandoned {
        chunk.abandoned_bins[slot].store(bin, Relaxed);
        chunk.abandoned.fetch_or(1 << slot, Relaxed);
        of_bin.inspect(|count| _ = count.fetch_add(1, Relaxed));
    } else {
        chunk.abandoned.fetch_and(!(1 << slot), Relaxed);
        of_bin.inspect(|count| _ = count.fetch_sub(1, Relaxed));
    }
}

/// The calling thread, whose default heap this is, has become the owner of a block that was abandoned, by freeing a cell of it. It
/// keeps the block, unless it has several of the bin, so that what a thread holds that only frees stays bounded. Nor does it
/// while the heap is visited, or where the thread has none: it may have ended, and nothing would end a heap that began now.
pub(crate) fn claimed_by_free(heap: &Heap, block: &'static Block, cell: usize) {
    let has_none = std::ptr::eq(heap, &raw const EMPTY_HEAP);
    if has_none || block.is_single() || heap.visited.get() || heap.has_several(block.bin.get()) {
        note(block, false);
        block.push_local(cell);
        disown(block);
    } else {
        adopted(heap, block);
        release::free_own(block, cell);
    }
}

/// The calling thread, whose heap this is, has become the owner of a block that was abandoned, and keeps it.
fn adopted(heap: &Heap, block: &'static Block) {
    note(block, false);
    ARENA.counters.blocks_adopted.fetch_add(1, Relaxed);
    heap.take_over(block);
}

/// An abandoned block of the bin that has a free cell, for the heap, if a bounded search finds one.
pub(crate) fn adopt(heap: &Heap, bin: Bin) -> Option<&'static Block> {
    if ARENA.abandoned[bin.index()].load(Relaxed) == 0 {
        return None;
    }
    search(heap, bin, MAX_CHUNKS, MAX_VISITS)
}

/// An abandoned block of the bin that has a free cell, for the heap, wherever it is.
pub(crate) fn adopt_wherever(heap: &Heap, bin: Bin) -> Option<&'static Block> {
    search(heap, bin, usize::MAX, usize::MAX)
}

/// Looks through so many chunks, and tries to become the owner of so many blocks, at most. A first-class heap finds none: it may free all
/// cells that are in it, and those of ended threads are not its own.
fn search(heap: &Heap, bin: Bin, most_chunks: usize, most_visits: usize) -> Option<&'static Block> {
    if !heap.is_default() {
        return None;
    }
    let (len, from) = (ARENA.len(), ARENA.adopt_from.load(Relaxed));
    let most_chunks = most_chunks.min(len);
    let mut visits = 0;
    for step in 0..most_chunks {
        let index = (from + step) % len;
        let Some(chunk) = ARENA.chunk(index) else {
            continue;
        };
        let mut slots = chunk.abandoned.load(Relaxed);
        while slots != 0 && visits < most_visits {
            let slot = slots.trailing_zeros() as usize;
            slots &= slots - 1;
            let block = chunk.block(slot);
            if chunk.abandoned_bins[slot].load(Relaxed) as usize != bin.index() {
                continue;
            }
            visits += 1;
            if let Some(block) = try_adopt(heap, block, bin) {
                ARENA.adopt_from.store(index, Relaxed);
                return Some(block);
            }
        }
    }
    ARENA.adopt_from.store(from + most_chunks, Relaxed);
    None
}

fn try_adopt(heap: &Heap, block: &'static Block, bin: Bin) -> Option<&'static Block> {
    if !block.thread_free.claim() {
        return None;
    }
    if bin.index() == block.bin.get() as usize {
        adopted(heap, block);
        block.collect();
        if block.free.get() != 0 || block.grow() {
            heap.remove(block);
            heap.push_front(block);
            return Some(block);
        }
        // The next search of the bin puts it on the full list.
        return None;
    }
    // The header is that of another block since the search has read its bin.
    note(block, false);
    disown(block);
    None
}
