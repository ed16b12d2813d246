// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells that are a block of their own: a run of pages of a chunk, or, if that is too short, a mapping.

use super::arena::ARENA;
use super::block::{Block, SINGLE};
use super::chunk::{
    Chunk, BLOCK_ALIGN, HEADER_PAGES, LOG_ADDRESSES, MAX_BLOCK_PAGES, MIN_BLOCK_PAGES,
};
use super::heap::Heap;
use super::secure::{self, GUARD_PAGES};
use super::{os, release};
use crate::config::{CHUNK_BYTES, PAGE_BYTES};
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Bytes of the pages that a cell of `bytes` needs.
fn page_bytes(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(PAGE_BYTES)
}

/// A cell of at least `size` bytes at a multiple of `align`, a power of two. 0 if the OS has no memory.
pub(crate) fn allocate(heap: &Heap, size: usize, align: usize) -> usize {
    let least = MIN_BLOCK_PAGES * PAGE_BYTES;
    // For what no program has addresses for, nothing need be given up.
    let has_addresses = |&bytes: &usize| (bytes | align) >> LOG_ADDRESSES == 0;
    let bytes = page_bytes(size.max(least)).filter(has_addresses);
    let find = |bytes| in_chunk(bytes, align).or_else(|| huge(bytes, align));
    let block = bytes.and_then(|bytes| {
        find(bytes).or_else(|| {
            heap.collect_for_memory();
            ARENA.patiently(|| find(bytes))
        })
    });
    let Some(block) = block else {
        return 0;
    };
    block.secret.renew(&heap.numbers, block.cell_bytes.get(), 1);
    block.used.set(1);
    block.show_used();
    block.capacity.set(1);
    block
        .heap
        .store(std::ptr::from_ref(heap).cast_mut(), Release);
    block.owner.store(heap.owner(), Relaxed);
    heap.push_full(block);
    block.start.get()
}

fn in_chunk(bytes: usize, align: usize) -> Option<&'static Block> {
    let mut pages = bytes / PAGE_BYTES + GUARD_PAGES;
    if align <= PAGE_BYTES {
        // The cell is at its end.
        pages = pages.next_multiple_of(BLOCK_ALIGN);
    }
    let align = align.div_ceil(PAGE_BYTES).max(BLOCK_ALIGN);
    if pages + HEADER_PAGES.next_multiple_of(align) - HEADER_PAGES > MAX_BLOCK_PAGES {
        return None;
    }
    ARENA.claim(SINGLE, bytes, pages, align)
}

/// A huge chunk.
fn huge(bytes: usize, align: usize) -> Option<&'static Block> {
    let (header, start, mapped) = if align < CHUNK_BYTES {
        let offset = (HEADER_PAGES * PAGE_BYTES).next_multiple_of(align);
        let mapped = bytes.checked_add(offset + GUARD_PAGES * PAGE_BYTES)?;
        let header = ARENA.map(mapped, CHUNK_BYTES)?;
        (header, header + offset, mapped)
    } else {
        let all = bytes
            .checked_add(align)?
            .checked_add(GUARD_PAGES * PAGE_BYTES)?;
        let low = ARENA.map(all, align)?;
        let (start, header) = (low + align, low + align - CHUNK_BYTES);
        os::unmap(low, header - low);
        (header, start, all - (header - low))
    };
    // SAFETY: the memory is mapped and zero.
    let chunk = unsafe { Chunk::at(header) };
    chunk.mapping_bytes.set(mapped);
    let block = chunk.block(0);
    block.init(SINGLE, bytes, start, 0..0);
    block.fresh.set(true);
    chunk.begin();
    secure::guard(header + mapped);
    ARENA.counters.huge_now.fetch_add(1, Relaxed);
    ARENA.counters.huge_total.fetch_add(1, Relaxed);
    Some(block)
}

/// Makes the only cell of a block, which the calling thread owns, `size` bytes or more without moving it. False if that is
/// not possible.
pub(crate) fn resize_in_place(block: &Block, size: usize) -> bool {
    if secure::ON {
        // The guard page is in the way.
        return false;
    }
    let Some(bytes) = page_bytes(size.max(MIN_BLOCK_PAGES * PAGE_BYTES)) else {
        return false;
    };
    let chunk = Chunk::of(block);
    let resized = if release::is_huge(block) {
        resize_mapping(chunk, block, bytes)
    } else {
        resize_run(chunk, block, bytes / PAGE_BYTES)
    };
    if resized {
        block.cell_bytes.set(bytes);
    }
    resized
}

fn resize_mapping(chunk: &Chunk, block: &Block, bytes: usize) -> bool {
    let Some(mapped) = bytes.checked_add(block.start.get() - chunk.start()) else {
        return false;
    };
    let resized = mapped <= isize::MAX as usize
        && os::resize(chunk.start(), chunk.mapping_bytes.get(), mapped);
    if resized {
        chunk.mapping_bytes.set(mapped);
    }
    resized
}

/// Unmaps a huge cell that another thread than the owner frees, but for its first page, in which it is linked. False where the OS
/// has no mapping to spare. The owner keeps off the block until that thread has put the cell on the list of delayed frees.
pub(crate) fn unmap_freed(block: &Block, cell: usize) -> bool {
    let chunk = Chunk::of(block);
    let (mapping_bytes, cell_bytes) = (chunk.mapping_bytes.get(), block.cell_bytes.get());
    let end = chunk.start() + mapping_bytes;
    let from = (cell & !(PAGE_BYTES - 1)) + PAGE_BYTES;
    // Before it is unmapped: the child of a fork meanwhile must not unmap what others have mapped there since.
    chunk.mapping_bytes.set(from - chunk.start());
    block.cell_bytes.set(from - cell);
    let unmapped = os::unmap(from, end - from);
    if !unmapped {
        chunk.mapping_bytes.set(mapping_bytes);
        block.cell_bytes.set(cell_bytes);
    }
    unmapped
}

fn resize_run(chunk: &Chunk, block: &Block, pages: usize) -> bool {
    let start = block.first_page.get() as usize;
    let (old, new) = (start + block.pages.get() as usize, start + pages);
    if new < old {
        ARENA.give_pages(chunk, new..old, old..old);
    } else {
        let Some(dirty) = ARENA.claim_exactly(chunk, old..new) else {
            return false;
        };
        chunk.set_slots(old..new, Chunk::slot(start));
        block.fresh.set(block.fresh.get() && dirty == 0);
    }
    block.pages.set(pages as u16);
    true
}
