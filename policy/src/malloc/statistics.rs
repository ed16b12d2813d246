// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be told about the allocator without counting at each allocation.

use super::arena::ARENA;
use super::block::Block;
use super::os;
use crate::config::PAGE_BYTES;
use crate::size_class::{CELL_BYTES_BY_BIN, MAX_BINS};
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

/// Of one bin, or of the blocks of one cell in chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BinStatistics {
    /// Bytes of a cell; 0 for blocks of one cell.
    pub cell_bytes: usize,
    /// Blocks of any thread, and of none, the empty ones that a thread keeps among them.
    pub blocks: usize,
    /// The most that they were at a time.
    pub blocks_peak: usize,
    /// How many were claimed from chunks.
    pub blocks_claimed: usize,
    /// Cells in use, and those that another thread freed and the owner has not looked at. Of blocks of other threads, those that
    /// were in use when their owner last took a list of cells to hand out.
    pub used_cells: usize,
    /// Bytes of those cells.
    pub used_bytes: usize,
    /// Bytes of all cells of the blocks that were ever touched since their block was claimed.
    pub touched_bytes: usize,
}

/// Of the process.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// By bin; the last is for blocks of one cell.
    pub bins: [BinStatistics; MAX_BINS + 1],
    /// Chunks, with those of which only the header is mapped.
    pub chunks: usize,
    /// Pages that are free, but may be held by the OS.
    pub dirty_pages: usize,
    /// Pages that went back to the OS.
    pub pages_reset: usize,
    /// Blocks that were claimed from chunks, of all bins.
    pub blocks_claimed: usize,
    /// Blocks whose thread ended.
    pub blocks_abandoned: usize,
    /// Of those, the ones that got another.
    pub blocks_adopted: usize,
    /// Huge cells in use.
    pub huge_now: usize,
    /// Huge cells allocated.
    pub huge_total: usize,
    /// Threads that allocated.
    pub threads: usize,
}

/// [`Statistics::pages_reset`] alone.
pub fn pages_reset() -> usize {
    ARENA.counters.pages_reset.load(Relaxed)
}

/// Looks at every block. Numbers of other threads' blocks may be a little old.
pub fn statistics() -> Statistics {
    let mut bins = std::array::from_fn(counted);
    for chunk in (0..ARENA.len()).filter_map(|index| ARENA.chunk(index)) {
        for block in chunk.blocks() {
            add(&mut bins, block);
        }
    }
    let counters = &ARENA.counters;
    Statistics {
        bins,
        chunks: ARENA.len(),
        dirty_pages: ARENA.dirty_pages(),
        pages_reset: pages_reset(),
        blocks_claimed: bins.iter().map(|bin| bin.blocks_claimed).sum(),
        blocks_abandoned: counters.blocks_abandoned.load(Relaxed),
        blocks_adopted: counters.blocks_adopted.load(Relaxed),
        huge_now: counters.huge_now.load(Relaxed),
        huge_total: counters.huge_total.load(Relaxed),
        threads: counters.threads.load(Relaxed),
    }
}

/// What is counted as blocks of a bin come and go.
fn counted(index: usize) -> BinStatistics {
    let counters = &ARENA.counters.bins[index];
    BinStatistics {
        cell_bytes: CELL_BYTES_BY_BIN
            .get(index)
            .map_or(0, |&bytes| bytes as usize),
        blocks: counters.blocks.load(Relaxed),
        blocks_peak: counters.blocks_peak.load(Relaxed),
        blocks_claimed: counters.blocks_claimed.load(Relaxed),
        ..BinStatistics::default()
    }
}

/// Adds the cells of the block to its bin.
fn add(bins: &mut [BinStatistics; MAX_BINS + 1], block: &Block) {
    let owner = block.owner();
    let used = if block.is_mine() {
        block.used.get()
    } else {
        block.shown_used.get()
    } as usize;
    if owner == 0 && used == 0 {
        // A header that was never used, or is of no block now.
        return;
    }
    let bin = &mut bins[(block.bin.get() as usize).min(MAX_BINS)];
    bin.used_cells += used;
    bin.used_bytes += used * block.cell_bytes.get();
    bin.touched_bytes += block.touched_bytes();
}

/// A line on the stack, as printing must not allocate.
struct Line {
    text: [u8; 160],
    len: usize,
}

impl Line {
    fn new() -> Line {
        Line {
            text: [0; 160],
            len: 0,
        }
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.text[..self.len]).unwrap_or_default()
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        let room = self.text.get_mut(self.len..end).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// Writes a line to standard error without allocating; what is longer than the buffer is cut off.
pub(crate) fn print_line(line: std::fmt::Arguments) {
    let mut buffer = Line::new();
    let _ = writeln!(buffer, "shardsweep: {line}");
    os::print(&buffer.text[..buffer.len]);
}

/// Prints the statistics to standard error: a line for each bin that has had a block, in the order of [`BinStatistics`], and then
/// those of the process.
pub fn print() {
    let all = statistics();
    print_line(format_args!(
        "{:>8} {:>8} {:>8} {:>8} {:>12} {:>12} {:>12}",
        "cell", "blocks", "peak", "total", "used cells", "used KiB", "touched KiB"
    ));
    all.bins
        .iter()
        .filter(|bin| bin.blocks_claimed != 0)
        .for_each(print_bin);
    let kib = |pages: usize| (pages * PAGE_BYTES) >> 10;
    print_line(format_args!(
        "chunks {}, threads {}",
        all.chunks, all.threads
    ));
    print_line(format_args!(
        "huge cells {} of {}",
        all.huge_now, all.huge_total
    ));
    print_line(format_args!(
        "blocks claimed {}, abandoned {}, adopted {}",
        all.blocks_claimed, all.blocks_abandoned, all.blocks_adopted
    ));
    print_line(format_args!(
        "dirty {} KiB, reset {} KiB",
        kib(all.dirty_pages),
        kib(all.pages_reset)
    ));
}

fn print_bin(bin: &BinStatistics) {
    let mut cell = Line::new();
    let _ = match bin.cell_bytes {
        0 => cell.write_str("large"),
        bytes => write!(cell, "{bytes}"),
    };
    print_line(format_args!(
        "{:>8} {:>8} {:>8} {:>8} {:>12} {:>12} {:>12}",
        cell.text(),
        bin.blocks,
        bin.blocks_peak,
        bin.blocks_claimed,
        bin.used_cells,
        bin.used_bytes >> 10,
        bin.touched_bytes >> 10
    ));
}
