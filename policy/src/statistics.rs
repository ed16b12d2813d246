// SPDX-License-Identifier: MIT OR Apache-2.0
//! How full the heap is, by size class.

use crate::block::State;
use crate::config::Config;
use crate::heap::Heap;
use crate::pages::PageSet;

/// Occupancy of one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BinStatistics {
    /// Blocks of this bin.
    pub blocks: usize,
    /// Cells found live by the last collection.
    pub live_cells: usize,
    /// Cells found live then or handed to a thread since.
    pub used_cells: usize,
    /// Cells that lie wholly on pages that are charged.
    pub capacity: usize,
    /// Pages charged.
    pub charged_pages: usize,
}

impl BinStatistics {
    /// Used cells out of those that pages are charged for, 0 to 1; 1 if there are none.
    pub fn occupancy(&self) -> f64 {
        if self.capacity == 0 {
            1.0
        } else {
            self.used_cells as f64 / self.capacity as f64
        }
    }
}

/// Occupancy of the heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// By bin.
    pub bins: Vec<BinStatistics>,
    /// Of objects above the largest cell: each is a block and a cell.
    pub large: BinStatistics,
    /// Pages that no block has.
    pub free_pages: usize,
    /// Those of them that may be resident.
    pub dirty_pages: usize,
}

impl<C: Config> Heap<C> {
    /// Counts blocks, cells and pages. Exact while threads are stopped, and a snapshot that may be
    /// torn otherwise. Time proportional to the number of blocks.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics {
            bins: vec![BinStatistics::default(); C::BINS],
            large: BinStatistics::default(),
            free_pages: 0,
            dirty_pages: 0,
        };
        for chunk in self.chunks() {
            let pages = &self.directory.state(chunk).pages;
            statistics.free_pages += count(&pages.free_pages());
            statistics.dirty_pages += count(&pages.dirty_pages());
        }
        for block in self.blocks() {
            let bin = match block.state() {
                State::Large => &mut statistics.large,
                _ => &mut statistics.bins[block.bin().index()],
            };
            bin.blocks += 1;
            bin.live_cells += block.live_cells() as usize;
            bin.used_cells += block.used_cells() as usize;
            bin.capacity += block.capacity() as usize;
            bin.charged_pages += block.charged_pages();
        }
        statistics
    }
}

fn count(pages: &PageSet) -> usize {
    pages.iter().map(|word| word.count_ones() as usize).sum()
}
