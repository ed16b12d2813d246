// SPDX-License-Identifier: MIT OR Apache-2.0
//! The return of free pages to the OS, while threads allocate. Unmapping a page takes longer than finding
//! out that it is free, so that a pause would be made of little else in a large heap.

use crate::block::{Block, ClosedPages, State};
use crate::config::{Config, LOG_PAGE_BYTES, PAGE_BYTES};
use crate::heap::Heap;

/// How much address space is purged at a time: little enough that neither a collection nor a thread that
/// opens one of the pages need wait long for it.
const BATCH_BYTES: usize = 1 << 20;

/// Adjacent pages that the OS may take back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// Address of the first page.
    pub start: usize,
    /// Number of pages.
    pub pages: usize,
}

/// What a step of [`Heap::purge`] has purged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purged {
    /// Number of pages that may have been resident.
    pub pages: usize,
    /// Whether the pages are of free blocks: those are the ones that threads are given first when they need memory.
    pub of_free_blocks: bool,
}

impl<C: Config> Heap<C> {
    /// Purges a batch at each step: passes pages that are not charged to `release`, which must give them
    /// back to the OS before it returns. Threads may allocate meanwhile, but no collection may begin within a
    /// step, nor may a later one find the same iterator in use.
    ///
    /// What is held by blocks with live cells comes first, because none but the next of their bin could use
    /// it. Of free blocks, and these are taken before address space that the OS does not hold, the walk begins at the highest
    /// address, because threads are given the lowest first. So even a purge that is slow keeps what
    /// the OS holds close to the size of the heap.
    ///
    /// As pages become dirty in collections alone, steps that add up to all but max(1 MiB, 5 % of the heap) of
    /// [`Released::dirty_pages`](crate::Released::dirty_pages) leave no more than that resident beyond
    /// what is charged, until the next collection.
    pub fn purge<'h>(
        &'h self,
        mut release: impl FnMut(&[PageRange]) + 'h,
    ) -> impl Iterator<Item = Purged> + 'h {
        let in_use = self.batches().map(|blocks| (blocks, false));
        let free = self.batches().map(|blocks| (blocks, true));
        in_use.chain(free).map(move |(blocks, of_free_blocks)| {
            let blocks = blocks
                .iter()
                .filter(|block| (block.state() == State::Free) == of_free_blocks);
            Purged {
                pages: purge_batch::<C>(blocks, &mut release),
                of_free_blocks,
            }
        })
    }

    fn batches(&self) -> impl Iterator<Item = &[Block]> {
        self.chunks()
            .rev()
            .map(|chunk| self.directory.headers(chunk))
            .flat_map(|blocks| blocks.rchunks(BATCH_BYTES / C::BLOCK_BYTES))
    }
}

/// Where a block has any dirty page, all its closed pages are passed on: the others are not held by the OS, and cost
/// less than a system call more, as each makes all processors forget what they know of the address space.
fn purge_batch<'h, C: Config>(
    blocks: impl Iterator<Item = &'h Block>,
    mut release: impl FnMut(&[PageRange]),
) -> usize {
    let dirty = blocks.filter(|block| block.dirty() != 0);
    let held: Vec<ClosedPages> = dirty.map(Block::hold_closed).collect();
    let count = |pages: &ClosedPages| pages.block().dirty().count_ones() as usize;
    let purged = held.iter().map(count).sum();
    let ranges = closed_ranges::<C>(&held);
    if purged != 0 {
        release(&ranges);
    }
    held.iter().for_each(|pages| pages.remove_dirty(u64::MAX));
    purged
}

/// The closed pages of blocks, which come by address, adjacent ones together.
fn closed_ranges<C: Config>(blocks: &[ClosedPages]) -> Vec<PageRange> {
    let mut ranges: Vec<PageRange> = Vec::new();
    for block in blocks.iter().map(ClosedPages::block) {
        let mut left = !block.open() & (u64::MAX >> (64 - C::BLOCK_PAGES));
        while left != 0 {
            let page = left.trailing_zeros();
            let pages = (left >> page).trailing_ones() as usize;
            // Adding at the lowest bit carries through the run of ones, and out of a full word.
            left &= left.wrapping_add(1 << page);
            let start = block.start() + ((page as usize) << LOG_PAGE_BYTES);
            match ranges.last_mut() {
                Some(last) if last.start + last.pages * PAGE_BYTES == start => {
                    last.pages += pages;
                }
                _ => ranges.push(PageRange { start, pages }),
            }
        }
    }
    ranges
}
