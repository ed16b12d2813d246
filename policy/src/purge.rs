// SPDX-License-Identifier: MIT OR Apache-2.0
//! The return of free pages to the OS, while threads allocate. Unmapping a page takes longer than finding
//! out that it is free, so that a pause would be made of little else in a large heap.

use crate::collapse::Collapser;
use crate::config::{Config, PAGE_BYTES};
use crate::directory::{Chunk, Page};
use crate::heap::Heap;
use crate::pages::runs;
use std::iter;
use std::ops::Range;

/// Pages of a batch: few enough that neither a collection nor a thread that needs memory waits long for it, but
/// many, because each batch costs a TLB shootdown.
const BATCH_PAGES: usize = 256;

/// How many chunks are searched for a batch, which is smaller if there are few dirty pages in them.
const SEARCHED_CHUNKS: usize = 16;

/// How many chunks are searched at a step for the place of a huge page, where a chunk takes less time than for a batch.
const SEARCHED_FOR_PLACES: usize = 256;

/// Adjacent pages that the OS may take back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// Address of the first page.
    pub start: usize,
    /// Number of pages.
    pub pages: usize,
}

impl<C: Config> Heap<C> {
    /// Purges a batch at each step, until there are no more: passes free pages to `release`, which must give them back to the OS before it
    /// returns. Threads may allocate meanwhile, but no collection may begin within a step, nor may a later one find the same iterator in
    /// use. What it has not purged at its end, it never will.
    ///
    /// Where there are huge pages, wholly free ones come first, one at a step: of others the OS has to make small ones.
    /// Then the highest pages come first, as threads take the lowest. During a step, the pages of the batch are nobody
    /// else's. As pages become dirty in collections, when threads exit and where a huge page is made, what the OS holds is hardly
    /// more than what is charged and [`Heap::dirty_pages`], as long as `release` succeeds: it holds those pages besides that blocks made of
    /// dirty runs have not opened.
    pub fn purge<'h>(
        &'h self,
        mut release: impl FnMut(&[PageRange]) + 'h,
    ) -> impl Iterator<Item = ()> + 'h {
        let mut chunks = self.chunks().rev().peekable();
        let mut places = self.huge_pages.iter().flat_map(|_| self.chunks().rev());
        let mut place_chunk = None;
        iter::from_fn(move || {
            let _lock = self.collapser.as_ref().map(Collapser::lock);
            let mut looked_at = 0;
            while let Some(chunk) = place_chunk.or_else(|| places.next()) {
                place_chunk = self.claim_dirty_place(chunk).map(|place| {
                    self.return_batch(vec![place], &mut release);
                    chunk
                });
                looked_at += 1;
                if place_chunk.is_some() || looked_at == SEARCHED_FOR_PLACES {
                    return Some(());
                }
            }
            chunks.peek()?;
            let mut batch = Vec::new();
            let (mut pages, mut searched) = (0, 0);
            while let Some(&chunk) = chunks.peek().filter(|_| searched < SEARCHED_CHUNKS) {
                pages += self.claim_dirty(chunk, BATCH_PAGES - pages, &mut batch);
                if pages == BATCH_PAGES {
                    break;
                }
                chunks.next();
                searched += 1;
            }
            self.return_batch(batch, &mut release);
            Some(())
        })
    }

    /// Claims the highest place of a huge page in `chunk` that is wholly free and of which the OS holds pages.
    fn claim_dirty_place(&self, chunk: Chunk) -> Option<Range<Page>> {
        let places = self.directory.state(chunk).pages.free_places();
        self.claim_place(chunk, places.rev().filter(|&(_, dirty)| dirty != 0))
    }

    /// Claims the highest dirty pages of `chunk` for `batch`, at most `most`. Returns how many.
    fn claim_dirty(&self, chunk: Chunk, most: usize, batch: &mut Vec<Range<Page>>) -> usize {
        let dirty = self.directory.state(chunk).pages.dirty_pages();
        let found: Vec<Range<usize>> = runs(&dirty).collect();
        let mut left = most;
        for run in found.into_iter().rev() {
            let page = |page| self.directory.page(chunk, page);
            let run = page(run.start.max(run.end.saturating_sub(left)))..page(run.end);
            if !run.is_empty() && self.claim_exactly(run.clone()).is_some() {
                left -= run.len();
                batch.push(run);
            }
        }
        most - left
    }

    fn return_batch(&self, mut batch: Vec<Range<Page>>, release: &mut impl FnMut(&[PageRange])) {
        if batch.is_empty() {
            return;
        }
        batch.sort_unstable_by_key(|run| run.start);
        let ranges: Vec<PageRange> = batch.iter().map(|run| self.range(run)).collect();
        release(&joined(&ranges));
        batch.into_iter().for_each(|run| self.give(run, false));
    }
}

/// Ranges that come by address, adjacent ones as one.
fn joined(ranges: &[PageRange]) -> Vec<PageRange> {
    let mut joined: Vec<PageRange> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.start + last.pages * PAGE_BYTES == range.start => {
                last.pages += range.pages;
            }
            _ => joined.push(*range),
        }
    }
    joined
}
