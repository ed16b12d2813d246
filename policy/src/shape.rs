// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the cells of a block lie, and which pages they overlap. Offsets are in bytes from the start
//! of the block; sets of pages are words with the lowest bit for the first page.

use crate::config::{Config, LOG_PAGE_BYTES, PAGE_BYTES};
use crate::size_class::Bin;
use std::marker::PhantomData;
use std::ops::Range;

/// The arrangement of the cells of one bin in a block.
#[derive(Clone, Copy)]
pub(crate) struct Shape<C> {
    cell: u32,
    /// Number of cells that fit into the block.
    reserved: u32,
    config: PhantomData<C>,
}

/// The set of the pages `range`.
fn set(range: Range<usize>) -> u64 {
    debug_assert!(range.end <= 64);
    if range.is_empty() {
        return 0;
    }
    (u64::MAX >> (64 - (range.end - range.start))) << range.start
}

impl<C: Config> Shape<C> {
    pub fn of(bin: Bin) -> Self {
        let cell = bin.cell_bytes() as u32;
        Shape {
            cell,
            reserved: C::BLOCK_BYTES as u32 / cell,
            config: PhantomData,
        }
    }

    pub fn cell_bytes(self) -> usize {
        self.cell as usize
    }

    /// Bytes from the start of the block to the end of its last cell.
    fn used_bytes(self) -> u32 {
        self.reserved * self.cell
    }

    /// The offsets of all cells.
    pub fn offsets(self) -> impl Iterator<Item = usize> {
        (0..self.used_bytes() as usize).step_by(self.cell as usize)
    }

    /// The pages that at least one cell overlaps: all but a tail that is too short for a cell.
    pub fn usable(self) -> u64 {
        set(0..self.used_bytes().div_ceil(PAGE_BYTES as u32) as usize)
    }

    /// The pages that the cell at `offset` overlaps.
    pub fn pages_of(self, offset: usize) -> u64 {
        let last = (offset + self.cell as usize - 1) >> LOG_PAGE_BYTES;
        set(offset >> LOG_PAGE_BYTES..last + 1)
    }

    /// The offset of the cell that holds byte `offset`.
    fn cell_at(self, offset: u32) -> u32 {
        offset / self.cell * self.cell
    }

    /// The offsets between which the cells lie that begin in `page`, one of `open`, and overlap only
    /// pages in `open`; step by the cell size from the start.
    pub fn beginning_in(self, page: usize, open: u64) -> Range<usize> {
        debug_assert!(open >> page & 1 != 0);
        let begin = (page * PAGE_BYTES) as u32;
        let end = (begin + PAGE_BYTES as u32).min(self.used_bytes());
        let first = begin.div_ceil(self.cell) * self.cell;
        if first >= end {
            return 0..0;
        }
        // Only the last cell that begins in a page can reach another one.
        let last = self.cell_at(end - 1) as usize;
        let excluded = self.pages_of(last) & !open != 0;
        first as usize..if excluded { last } else { end as usize }
    }

    /// The pages to open so that at least one more cell can be handed out: those of the lowest cell
    /// that is not wholly on `open` pages. Empty if there is no such cell.
    pub fn growth(self, open: u64) -> u64 {
        let closed = self.usable() & !open;
        if closed == 0 {
            return 0;
        }
        let page = closed.trailing_zeros() << LOG_PAGE_BYTES;
        self.pages_of(self.cell_at(page) as usize) & !open
    }

    /// The offsets between which the cells lie that come into reach by opening `growth`, when `open`
    /// is what is open with it.
    pub fn reached_by(self, growth: u64, open: u64) -> Range<usize> {
        debug_assert!(growth != 0 && growth & open == growth);
        let first_page = growth.trailing_zeros();
        let end_page = 64 - growth.leading_zeros();
        debug_assert_eq!(growth, set(first_page as usize..end_page as usize));
        let first = self.cell_at(first_page << LOG_PAGE_BYTES) as usize;
        let end = (end_page << LOG_PAGE_BYTES).min(self.used_bytes());
        let last = self.cell_at(end - 1) as usize;
        let excluded = self.pages_of(last) & !open != 0;
        first..if excluded { last } else { last + 1 }
    }

    /// Number of cells that lie wholly on `open` pages.
    pub fn cells_on(self, open: u64) -> u32 {
        let mut left = open & self.usable();
        if left == self.usable() {
            return self.reserved;
        }
        let mut cells = 0;
        while left != 0 {
            let first_page = left.trailing_zeros();
            let end_page = first_page + (left >> first_page).trailing_ones();
            let first = (first_page << LOG_PAGE_BYTES).div_ceil(self.cell);
            let end = (end_page << LOG_PAGE_BYTES).min(self.used_bytes()) / self.cell;
            cells += end.saturating_sub(first);
            left &= !set(first_page as usize..end_page as usize);
        }
        cells
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Blocks;

    /// The offset and the pages of every cell, found by looking at each page.
    fn cells<C: Config>(bin: Bin) -> Vec<(usize, u64)> {
        let cell = bin.cell_bytes();
        let overlap = |offset: usize, page: usize| {
            offset < (page + 1) * PAGE_BYTES && page * PAGE_BYTES < offset + cell
        };
        let pages = |offset| {
            (0..C::BLOCK_PAGES)
                .filter(|&page| overlap(offset, page))
                .fold(0, |pages, page| pages | 1 << page)
        };
        (0..C::BLOCK_BYTES / cell)
            .map(|index| (index * cell, pages(index * cell)))
            .collect()
    }

    fn spread(range: Range<usize>, bin: Bin) -> Vec<usize> {
        range.step_by(bin.cell_bytes()).collect()
    }

    fn agrees_with_counting<C: Config>() {
        // Patterns of open pages: all, none, stripes and arbitrary ones.
        let mut patterns = vec![0, u64::MAX, 0x5555_5555_5555_5555, 0xf0f0_0ff0_00ff_f00f];
        patterns.extend((1..10u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        for bin in (0..C::BINS).map(Bin::from_index) {
            let shape = Shape::<C>::of(bin);
            let cells = cells::<C>(bin);
            for pattern in &patterns {
                let open = pattern & shape.usable();
                let reachable = cells.iter().filter(|(_, pages)| pages & !open == 0);
                let mut by_page = vec![Vec::new(); C::BLOCK_PAGES];
                for (offset, pages) in reachable.clone() {
                    assert_eq!(shape.pages_of(*offset), *pages);
                    by_page[offset / PAGE_BYTES].push(*offset);
                }
                assert_eq!(shape.cells_on(open) as usize, reachable.count());
                for page in (0..C::BLOCK_PAGES).filter(|page| open >> page & 1 != 0) {
                    assert_eq!(spread(shape.beginning_in(page, open), bin), by_page[page]);
                }
            }
        }
    }

    fn growth_reaches_every_cell_once<C: Config>() {
        for bin in (0..C::BINS).map(Bin::from_index) {
            let shape = Shape::<C>::of(bin);
            let mut open = 0;
            let mut reached = Vec::new();
            while shape.growth(open) != 0 {
                let growth = shape.growth(open);
                assert_eq!(growth & open, 0);
                open |= growth;
                let cells = spread(shape.reached_by(growth, open), bin);
                assert!(!cells.is_empty(), "a page is charged for no cell");
                reached.extend(cells);
            }
            assert_eq!(open, shape.usable());
            assert_eq!(reached, shape.offsets().collect::<Vec<_>>());
        }
    }

    #[test]
    fn pages_and_cells_agree_with_counting() {
        agrees_with_counting::<Blocks<12, false>>();
        if !cfg!(miri) {
            agrees_with_counting::<Blocks<13, false>>();
            agrees_with_counting::<Blocks<14, true>>();
            agrees_with_counting::<Blocks<16, false>>();
            agrees_with_counting::<Blocks<18, false>>();
        }
    }

    #[test]
    fn growing_page_by_page_reaches_every_cell_once() {
        growth_reaches_every_cell_once::<Blocks<12, false>>();
        growth_reaches_every_cell_once::<Blocks<14, false>>();
        if !cfg!(miri) {
            growth_reaches_every_cell_once::<Blocks<15, true>>();
            growth_reaches_every_cell_once::<Blocks<16, false>>();
            growth_reaches_every_cell_once::<Blocks<17, false>>();
            growth_reaches_every_cell_once::<Blocks<18, false>>();
        }
    }
}
