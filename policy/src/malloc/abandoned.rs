// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks whose thread has ended while cells of them are in use. Whoever frees a cell of one becomes its owner; so does
//! a thread that needs a block and finds one of its bin.

use super::arena::ARENA;
use super::block::Block;
use super::chunk::Chunk;
use super::heap::Heap;
use super::release;
use crate::size_class::Bin;
use crate::thread_free::Freed;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;

/// Abandoned blocks that one search becomes the owner of, at most, if only for a moment.
const MAX_VISITS: usize = 32;
/// Chunks that one search looks through, at most.
const MAX_CHUNKS: usize = 64;

/// Gives up a block of the calling thread, which ends, that is in no queue, and in which no free is delayed.
pub(crate) fn abandon(block: &'static Block) {
    if give_up(block) {
        ARENA.counters.blocks_abandoned.fetch_add(1, Relaxed);
    }
}

/// Gives up a block that is in no queue. False if it was empty, and is released.
fn give_up(block: &'static Block) -> bool {
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
    let start = Chunk::start_of(block.start.get());
    // SAFETY: the header of a block is in its chunk, which stays.
    let chunk = unsafe { Chunk::at(start) };
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

/// The calling thread, whose heap this is, has become the owner of a block that was abandoned, by freeing a cell of it; the
/// others were freed before. It keeps the block, unless it has some of the bin, so that what a thread holds that only
/// frees stays bounded, or the heap is being visited.
pub(crate) fn claimed_by_free(heap: &Heap, block: &'static Block, freed: Freed, cell: usize) {
    let is_enough = || heap.visited.get() || heap.has_several(block.bin.get());
    if !block.is_single() && is_enough() {
        note(block, false);
        block.put_back(freed);
        block.push_local(cell);
        give_up(block);
    } else {
        claimed(heap, block, freed);
        release::free_own(block, cell);
    }
}

/// The calling thread, which has no heap, has become the owner of a block of one cell that was abandoned, by freeing it.
pub(crate) fn freed_without_heap(block: &'static Block) {
    note(block, false);
    block.used.set(0);
    release::destroy(block);
}

/// The calling thread, whose heap this is, has become the owner of a block that was abandoned, with cells that were freed.
fn claimed(heap: &Heap, block: &'static Block, freed: Freed) {
    note(block, false);
    ARENA.counters.blocks_adopted.fetch_add(1, Relaxed);
    heap.take_over(block, freed);
}

/// An abandoned block of the bin that has a free cell, for the heap, if a bounded search finds one.
pub(crate) fn adopt(heap: &Heap, bin: Bin) -> Option<&'static Block> {
    if ARENA.abandoned[bin.index()].load(Relaxed) == 0 {
        return None;
    }
    search(heap, Some(bin), MAX_CHUNKS, MAX_VISITS)
}

/// An abandoned block of the bin that has a free cell, for the heap, wherever it is. Without a bin there is none, and all
/// blocks are released whose cells were freed by threads that cannot own them.
pub(crate) fn adopt_wherever(heap: &Heap, bin: Option<Bin>) -> Option<&'static Block> {
    search(heap, bin, usize::MAX, usize::MAX)
}

/// Looks through so many chunks, and becomes the owner of so many blocks, at most. On the way, blocks of other bins are
/// released whose cells were all freed by threads that cannot own them.
fn search(
    heap: &Heap,
    bin: Option<Bin>,
    most_chunks: usize,
    most_visits: usize,
) -> Option<&'static Block> {
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
            let of = chunk.abandoned_bins[slot].load(Relaxed) as usize;
            if bin.map(Bin::index) != Some(of) && block.thread_free.first() == 0 {
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

fn try_adopt(heap: &Heap, block: &'static Block, bin: Option<Bin>) -> Option<&'static Block> {
    let freed = block.thread_free.claim()?;
    if bin.map(Bin::index) == Some(block.bin.get() as usize) {
        claimed(heap, block, freed);
        block.collect();
        if block.free.get() != 0 || block.grow() {
            heap.remove(block);
            heap.push_front(block);
            return Some(block);
        }
        // The next search of the bin puts it on the full list.
        return None;
    }
    note(block, false);
    block.put_back(freed);
    give_up(block);
    None
}
