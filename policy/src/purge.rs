// SPDX-License-Identifier: MIT OR Apache-2.0
//! The return of free pages to the OS, while threads allocate. Unmapping a page takes longer than finding
//! out that it is free, so that a pause would be made of little else in a large heap.

use crate::block::{Block, ClosedPages, State};
use crate::config::{Config, LOG_PAGE_BYTES, PAGE_BYTES};
use crate::heap::Heap;
use std::iter;

/// Dirty pages of a batch: few enough that neither a collection nor a thread that opens one of the pages need
/// wait long for it, but many, because each batch makes all processors forget what they know of the address space.
const BATCH_PAGES: u32 = 256;

/// How much address space is searched for a batch, which is smaller if there are few dirty pages in it.
const SEARCH_BYTES: usize = 64 << 20;

/// Adjacent pages that the OS may take back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// Address of the first page.
    pub start: usize,
    /// Number of pages.
    pub pages: usize,
}

/// When a block's dirty pages are purged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Cold,
    InUse,
    Free,
}

impl Turn {
    fn of(block: &Block) -> Turn {
        match block.state() {
            State::Free => Turn::Free,
            _ if block.is_cold() => Turn::Cold,
            _ => Turn::InUse,
        }
    }
}

impl<C: Config> Heap<C> {
    /// Purges a batch at each step, and yields whether any of it was dirty: passes pages that are not charged to
    /// `release`, which must give them back to the OS before it returns. Threads may allocate meanwhile, but no
    /// collection may begin within a step, nor may a later one find the same iterator in use. What it has not
    /// purged at its end, it never will.
    ///
    /// What is held by blocks with live cells comes before free blocks, because none but threads that need their bin
    /// could use it; and first by such of them whose pages nobody had use for since the collection before the last.
    /// Free blocks that are held are taken before others, the lowest first: the walk over them begins at the highest.
    /// As pages become dirty in collections alone, what the OS holds is never more than what is charged and [`Heap::dirty_pages`],
    /// as long as `release` succeeds.
    pub fn purge<'h>(
        &'h self,
        mut release: impl FnMut(&[PageRange]) + 'h,
    ) -> impl Iterator<Item = bool> + 'h {
        let walk = |turn| self.from_highest().map(move |block| (block, turn));
        let walks = [Turn::Cold, Turn::InUse, Turn::Free].map(walk);
        let mut blocks = walks.into_iter().flatten().peekable();
        iter::from_fn(move || {
            blocks.peek()?;
            let searched = blocks.by_ref().take(SEARCH_BYTES / C::BLOCK_BYTES);
            Some(self.purge_batch(searched, &mut release))
        })
    }

    fn from_highest(&self) -> impl Iterator<Item = &Block> {
        let chunks = self.chunks().rev();
        chunks.flat_map(|chunk| self.directory.headers(chunk).iter().rev())
    }

    /// Purges of these blocks, as long as the batch is not full, those whose turn has come. Returns whether any page
    /// was dirty.
    fn purge_batch<'h>(
        &self,
        blocks: impl Iterator<Item = (&'h Block, Turn)>,
        mut release: impl FnMut(&[PageRange]),
    ) -> bool {
        let mut dirty = 0;
        let mut held: Vec<ClosedPages> = Vec::new();
        for (block, turn) in blocks {
            if block.dirty() != 0 && Turn::of(block) == turn {
                held.push(block.hold_closed());
                dirty += block.dirty().count_ones();
                if dirty >= BATCH_PAGES {
                    break;
                }
            }
        }
        if dirty != 0 {
            held.sort_unstable_by_key(|pages| pages.block().start());
            release(&dirty_ranges::<C>(&held));
        }
        for pages in &held {
            pages.remove_dirty(u64::MAX, &self.dirty_pages);
        }
        dirty != 0
    }
}

/// The runs of closed pages that have a dirty one, of blocks that come by address; adjacent runs together. The clean
/// pages of such a run are not held by the OS, and cost less than a range more.
fn dirty_ranges<C: Config>(blocks: &[ClosedPages]) -> Vec<PageRange> {
    let mut ranges: Vec<PageRange> = Vec::new();
    for block in blocks.iter().map(ClosedPages::block) {
        let mut left = !block.open() & (u64::MAX >> (64 - C::BLOCK_PAGES));
        while left != 0 {
            let page = left.trailing_zeros();
            let pages = (left >> page).trailing_ones() as usize;
            // Adding at the lowest bit carries through the run of ones, and out of a full word.
            left &= left.wrapping_add(1 << page);
            if (block.dirty() >> page) & (u64::MAX >> (64 - pages)) == 0 {
                continue;
            }
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
