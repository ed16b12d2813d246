// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the cells of a block lie, and which pages they overlap. Offsets are in bytes from the start
//! of the block; sets of pages are words with the lowest bit for the first page.

use crate::config::{Config, LOG_PAGE_BYTES, PAGE_BYTES, SMALL_CELL_BYTES};
use crate::size_class::Bin;
use std::ops::Range;

/// The arrangement of the cells of one bin in a block of some pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    cell: u32,
    /// Offset of the first cell. Not zero where the front of a longer block has died.
    first: u32,
    /// Bytes in the block.
    bytes: u32,
}

/// The set of the pages `range`.
fn set(range: Range<usize>) -> u64 {
    debug_assert!(range.end <= 64);
    if range.is_empty() {
        return 0;
    }
    (u64::MAX >> (64 - (range.end - range.start))) << range.start
}

impl Shape {
    pub fn new(bin: Bin, first: usize, pages: usize) -> Self {
        Shape {
            cell: bin.cell_bytes() as u32,
            first: first as u32,
            bytes: (pages << LOG_PAGE_BYTES) as u32,
        }
    }

    /// Pages of the longest block of `bin`: as many as its cells need, of those that a block may have.
    pub fn most_pages<C: Config>(bin: Bin) -> usize {
        let pages = if bin.cell_bytes() <= SMALL_CELL_BYTES {
            C::BLOCK_PAGES
        } else {
            C::MEDIUM_BLOCK_PAGES
        };
        let cells = (pages << LOG_PAGE_BYTES) / bin.cell_bytes();
        (cells * bin.cell_bytes()).div_ceil(PAGE_BYTES)
    }

    /// Pages of the shortest block of `bin`, which holds one cell.
    pub fn least_pages(bin: Bin) -> usize {
        bin.cell_bytes().div_ceil(PAGE_BYTES)
    }

    /// Pages of the shortest block of `bin` of which its cells leave a 32nd at most unused, or else of the longest block.
    pub fn filled_pages<C: Config>(bin: Bin) -> usize {
        let most = Self::most_pages::<C>(bin);
        let is_filled = |&pages: &usize| {
            let bytes = pages << LOG_PAGE_BYTES;
            32 * (bytes % bin.cell_bytes()) <= bytes
        };
        (Self::least_pages(bin)..most)
            .find(is_filled)
            .unwrap_or(most)
    }

    pub fn cell_bytes(self) -> usize {
        self.cell as usize
    }

    /// Number of cells that lie wholly on the first `pages` pages.
    pub fn cells_on(self, pages: usize) -> u32 {
        ((pages << LOG_PAGE_BYTES) as u32).saturating_sub(self.first) / self.cell
    }

    /// Number of cells.
    pub fn cells(self) -> u32 {
        self.cells_on(self.pages())
    }

    fn pages(self) -> usize {
        (self.bytes >> LOG_PAGE_BYTES) as usize
    }

    /// Pages from the first one on that hold all cells.
    pub fn used_pages(self) -> usize {
        ((self.first + self.cells() * self.cell) as usize).div_ceil(PAGE_BYTES)
    }

    /// The offsets between which the cells lie that come into reach when, after the first `opened` pages, so
    /// many are open as `now` says.
    pub fn reached(self, opened: usize, now: usize) -> Range<usize> {
        let offset = |cells: u32| (self.first + cells * self.cell) as usize;
        offset(self.cells_on(opened))..offset(self.cells_on(now))
    }

    /// Pages that must be open so that one more cell is in reach than on the first `opened` pages. More than the
    /// block has, if there is no such cell.
    pub fn next_opened(self, opened: usize) -> usize {
        let end = self.first + (self.cells_on(opened) + 1) * self.cell;
        (end as usize).div_ceil(PAGE_BYTES)
    }

    /// The pages that the cell at `offset` overlaps.
    pub fn pages_of(self, offset: usize) -> u64 {
        let last = (offset + self.cell as usize - 1) >> LOG_PAGE_BYTES;
        set(offset >> LOG_PAGE_BYTES..last + 1)
    }

    /// The offset at which the cell begins that the byte at `offset` is of.
    pub fn cell_at(self, offset: usize) -> usize {
        offset - (offset - self.first as usize) % self.cell_bytes()
    }

    /// Whether a cell begins at `offset`.
    pub fn is_cell(self, offset: usize) -> bool {
        offset
            .checked_sub(self.first as usize)
            .is_some_and(|from_first| from_first % self.cell_bytes() == 0)
            && offset + self.cell_bytes() <= self.bytes as usize
    }

    /// The offset of the first cell in what is left of the block when its first `pages` pages go.
    pub fn first_behind(self, pages: usize) -> usize {
        let front = pages << LOG_PAGE_BYTES;
        let first = self.first as usize;
        match front.checked_sub(first) {
            None => first - front,
            Some(gone) => gone.next_multiple_of(self.cell_bytes()) - gone,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Blocks, Blocks64K, Blocks64KByBlock};

    /// The offset and the pages of every cell of a block, found by looking at each page.
    fn cells(bin: Bin, first: usize, pages: usize) -> Vec<(usize, u64)> {
        let cell = bin.cell_bytes();
        let overlap = |offset: usize, page: usize| {
            offset < (page + 1) * PAGE_BYTES && page * PAGE_BYTES < offset + cell
        };
        let pages_of = |offset| {
            (0..pages)
                .filter(|&page| overlap(offset, page))
                .fold(0, |pages, page| pages | 1 << page)
        };
        (first..)
            .step_by(cell)
            .take_while(|offset| offset + cell <= pages * PAGE_BYTES)
            .map(|offset| (offset, pages_of(offset)))
            .collect()
    }

    fn agrees_with_counting<C: Config>() {
        for bin in (0..C::BINS).map(Bin::from_index) {
            let most = Shape::most_pages::<C>(bin);
            let is_small = bin.cell_bytes() <= SMALL_CELL_BYTES;
            assert!(Shape::least_pages(bin) <= most && most <= C::MEDIUM_BLOCK_PAGES);
            assert!(!is_small || most <= C::BLOCK_PAGES);
            for first in [0, 8, bin.cell_bytes() / 16 * 8] {
                let shape = Shape::new(bin, first, most);
                let cells = cells(bin, first, most);
                assert_eq!(shape.cells() as usize, cells.len());
                if let Some((_, pages)) = cells.last() {
                    assert_eq!(shape.used_pages(), 64 - pages.leading_zeros() as usize);
                }
                for &(offset, pages) in &cells {
                    assert!(shape.is_cell(offset) && !shape.is_cell(offset + 4));
                    assert_eq!(shape.pages_of(offset), pages);
                }
                for gone in 0..most {
                    let left = cells
                        .iter()
                        .find(|(offset, _)| *offset >= gone * PAGE_BYTES);
                    if let Some((offset, _)) = left {
                        assert_eq!(shape.first_behind(gone), offset - gone * PAGE_BYTES);
                    }
                }
            }
        }
    }

    fn growth_reaches_every_cell_once<C: Config>() {
        for bin in (0..C::BINS).map(Bin::from_index) {
            let pages = Shape::most_pages::<C>(bin);
            let shape = Shape::new(bin, 0, pages);
            let (mut opened, mut reached) = (0, Vec::new());
            while shape.next_opened(opened) <= pages {
                let now = shape.next_opened(opened);
                let cells = shape.reached(opened, now).step_by(shape.cell_bytes());
                assert!(cells.len() > 0, "a page is charged for no cell");
                reached.extend(cells);
                opened = now;
            }
            assert_eq!(opened, pages);
            let all: Vec<usize> = cells(bin, 0, pages).iter().map(|cell| cell.0).collect();
            assert_eq!(reached, all);
        }
    }

    #[test]
    fn pages_and_cells_agree_with_counting() {
        agrees_with_counting::<Blocks<12, false>>();
        if !cfg!(miri) {
            agrees_with_counting::<Blocks<13, false>>();
            agrees_with_counting::<Blocks<16, false>>();
            agrees_with_counting::<Blocks<18, false>>();
        }
    }

    #[test]
    fn cells_above_8_kib_have_longer_blocks_where_pages_are_charged() {
        let longest = |size| {
            let bin = Bin::holding(size);
            let paged = Shape::most_pages::<Blocks64K>(bin);
            (paged, Shape::most_pages::<Blocks64KByBlock>(bin))
        };
        assert_eq!(longest(8 << 10), (16, 16));
        // Cells of 36,864 bytes, of which one fits into 64 KiB.
        assert_eq!(longest(33_000), (63, 9));
    }

    #[test]
    fn growing_page_by_page_reaches_every_cell_once() {
        growth_reaches_every_cell_once::<Blocks<12, false>>();
        growth_reaches_every_cell_once::<Blocks<14, false>>();
        if !cfg!(miri) {
            growth_reaches_every_cell_once::<Blocks<16, false>>();
            growth_reaches_every_cell_once::<Blocks<18, false>>();
        }
    }
}
