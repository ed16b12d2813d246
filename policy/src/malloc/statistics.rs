// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be told about the allocator without counting at each allocation.

use super::arena::ARENA;
use super::block::SINGLE;
use super::os;
use crate::config::PAGE_BYTES;
use crate::size_class::MAX_BINS;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

/// Of one bin, or of the blocks of one cell in chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BinStatistics {
    /// Bytes of a cell; 0 for blocks of one cell.
    pub cell_bytes: usize,
    /// Blocks of any thread, and of none.
    pub blocks: usize,
    /// Cells in use, and those that another thread freed and the owner has not looked at.
    pub used_cells: usize,
    /// Bytes of those cells.
    pub used_bytes: usize,
    /// Bytes of all cells that were ever touched since their block was claimed.
    pub touched_bytes: usize,
}

/// Of the process.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// By bin; the last is for blocks of one cell.
    pub bins: [BinStatistics; MAX_BINS + 1],
    /// Chunks mapped.
    pub chunks: usize,
    /// Pages that are free, but may be held by the OS.
    pub dirty_pages: usize,
    /// Pages that went back to the OS.
    pub pages_reset: usize,
    /// Blocks that were claimed from chunks.
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
    let mut bins = [BinStatistics::default(); MAX_BINS + 1];
    for chunk in (0..ARENA.len()).filter_map(|index| ARENA.chunk(index)) {
        for block in chunk.blocks() {
            // A header that was never used, or is of no block now.
            if block.capacity.get() == 0 || block.used.get() == 0 {
                continue;
            }
            let single = block.bin.get() == SINGLE;
            let bin = &mut bins[if single {
                MAX_BINS
            } else {
                block.bin.get() as usize
            }];
            bin.cell_bytes = if single { 0 } else { block.cell_bytes.get() };
            bin.blocks += 1;
            bin.used_cells += block.used.get() as usize;
            bin.used_bytes += block.used.get() as usize * block.cell_bytes.get();
            bin.touched_bytes += block.touched_bytes();
        }
    }
    let counters = &ARENA.counters;
    Statistics {
        bins,
        chunks: ARENA.len(),
        dirty_pages: ARENA.dirty_pages(),
        pages_reset: pages_reset(),
        blocks_claimed: counters.blocks_claimed.load(Relaxed),
        blocks_abandoned: counters.blocks_abandoned.load(Relaxed),
        blocks_adopted: counters.blocks_adopted.load(Relaxed),
        huge_now: counters.huge_now.load(Relaxed),
        huge_total: counters.huge_total.load(Relaxed),
        threads: counters.threads.load(Relaxed),
    }
}

/// A line on the stack, as printing must not allocate.
struct Line {
    text: [u8; 160],
    len: usize,
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
    let mut buffer = Line {
        text: [0; 160],
        len: 0,
    };
    let _ = writeln!(buffer, "shardsweep: {line}");
    os::print(&buffer.text[..buffer.len]);
}

/// Prints the statistics to standard error.
pub fn print() {
    let all = statistics();
    print_line(format_args!(
        "{:>12} {:>8} {:>12} {:>12} {:>12}",
        "cell", "blocks", "used cells", "used KiB", "touched KiB"
    ));
    for bin in all.bins.iter().filter(|bin| bin.blocks != 0) {
        let (used, touched) = (bin.used_bytes >> 10, bin.touched_bytes >> 10);
        match bin.cell_bytes {
            0 => print_line(format_args!(
                "{:>12} {:>8} {:>12} {used:>12} {touched:>12}",
                "large", bin.blocks, bin.used_cells
            )),
            cell => print_line(format_args!(
                "{cell:>12} {:>8} {:>12} {used:>12} {touched:>12}",
                bin.blocks, bin.used_cells
            )),
        }
    }
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
