// SPDX-License-Identifier: MIT OR Apache-2.0
//! Size classes: which cell an object of a given size goes into.
//!
//! As in mimalloc there are steps of 8 bytes up to 64 bytes and then four bins for each doubling.
//! mimalloc spaces the four evenly, which wastes up to a fifth of a cell just above a power of two
//! (an object of 520 bytes in a cell of 640). From 256 bytes on, the cells here are spaced
//! geometrically instead, so that with the same number of bins at most a sixth (16.7 %) of a cell is
//! unused by an object whose size is a multiple of 8. Below 256 bytes the cells are mimalloc's.
//!
//! From 8 KiB on there are eight bins for each doubling, spaced evenly, and at most a ninth is unused. Java's
//! buffers are the reason: one of 33,000 bytes gets a cell of 9 pages, where four bins for each doubling would
//! give it 10. Such bins cost address space, but hardly a page, as few of these cells
//! share one.
//!
//! From 1 KiB on, each doubling begins with one more bin: that of an array whose length is a power of two, the
//! commonest buffer of Java, and of its header. Such arrays then lie next to each other. Gaps between them
//! would cost time to clear them, beside memory: the processor's own prefetching follows stores that go on
//! without a gap. `scripts/experiments/micro.sh allocation` times arrays of 16 KiB.
//!
//! The sequence does not depend on the block size; the block size only says where it ends
//! ([`Config::BINS`](crate::Config::BINS)): at the cell of `BLOCK_BYTES`, so no bin stays empty by
//! construction. Where cells do not fill a block, its end is unused. With page accounting those pages
//! are never charged, so an object there costs no more pages than a sixth above what it fills.

/// Number of bins for the largest block (256 KiB): the length of every array indexed by bin.
pub const MAX_BINS: usize = bins_up_to(MAX_CELL_BYTES);
/// The bin of an object of up to 256 KiB, indexed by its size in words (rounded up).
/// Part of the plugin ABI: compiled code reads it for objects of variable size.
pub static BINS_BY_WORDS: [u8; MAX_CELL_BYTES / 8 + 1] = bins_by_words();

/// Bytes in the cells of each bin. Part of the plugin ABI, as well.
pub static CELL_BYTES_BY_BIN: [u32; MAX_BINS] = CELL_BYTES;

/// Objects up to this size find their bin in [`SMALL`], others by some shifts.
pub(crate) const SMALL_BYTES: usize = 1024;
/// The same for small sizes as a constant, so that the bin of a constant size is one in every crate.
const SMALL: [u8; SMALL_BYTES / 8 + 1] = bins_by_words();

const MAX_CELL_BYTES: usize = 256 << 10;
const CELL_BYTES: [u32; MAX_BINS] = cell_sizes();
/// log2 of the cell at which four bins a doubling begin.
const LOG_LINEAR_BYTES: u32 = 6;
const LINEAR_BINS: usize = 8;
/// log2 of the cell at which each doubling begins with a bin for an array, and the bin after that cell's.
const LOG_ARRAY_BYTES: u32 = 10;
const ARRAY_BIN: usize = LINEAR_BINS + 4 * (LOG_ARRAY_BYTES - LOG_LINEAR_BYTES) as usize;
/// Bytes of an array's header in HotSpot, with compressed class pointers.
const ARRAY_HEADER_BYTES: usize = 16;
/// log2 of the cell at which eight bins a doubling begin, beside the array's, and the bin after that cell's.
const LOG_LARGE_BYTES: u32 = 13;
const LARGE_BIN: usize = ARRAY_BIN + 5 * (LOG_LARGE_BYTES - LOG_ARRAY_BYTES) as usize;

/// Where the four cells of a doubling end, in 32nds of its lower bound. Consecutive steps of 19/16,
/// 45/38, 6/5 and 32/27 are all at most 6/5, hence the bound of a sixth.
const GEOMETRIC: [usize; 4] = [38, 45, 54, 64];

/// A size class: an index below [`Config::BINS`](crate::Config::BINS), smallest cells first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Bin(u8);

impl Bin {
    /// The bin with the smallest cells that hold `size` bytes (0 counts as 1). A table look-up for
    /// small sizes and a few shifts for others; a constant for a constant size. `size` must be at most
    /// 256 KiB; [`Config::bin`](crate::Config::bin) checks it against the block size.
    ///
    /// # Panics
    /// If `size` is above 256 KiB.
    #[inline(always)]
    pub const fn holding(size: usize) -> Bin {
        if size <= SMALL_BYTES {
            return Bin(SMALL[(size + 7) >> 3]);
        }
        assert!(size <= MAX_CELL_BYTES, "no bin holds as much");
        let last = size - 1;
        let doubling = last.ilog2();
        if last - (1 << doubling) < ARRAY_HEADER_BYTES {
            return Bin(bins_up_to(1 << doubling) as u8);
        }
        let step = if doubling >= LOG_LARGE_BYTES {
            (last >> (doubling - 3)) & 7
        } else {
            // The five bits below the leading one say in which 32nd of the doubling the object ends.
            let part = (last >> (doubling - 5)) & 31;
            (part >= GEOMETRIC[0] - 32) as usize
                + (part >= GEOMETRIC[1] - 32) as usize
                + (part >= GEOMETRIC[2] - 32) as usize
        };
        Bin((bins_up_to(1 << doubling) + 1 + step) as u8)
    }

    /// The bin with number `index`.
    ///
    /// # Panics
    /// If there is no such bin.
    pub const fn from_index(index: usize) -> Bin {
        assert!(index < MAX_BINS, "no such bin");
        Bin(index as u8)
    }

    /// The number of this bin: its place in arrays by bin.
    #[inline(always)]
    pub const fn index(self) -> usize {
        // SAFETY: both constructors yield numbers below MAX_BINS. Saying so keeps bounds checks out of
        // the fast path.
        unsafe { std::hint::assert_unchecked((self.0 as usize) < MAX_BINS) };
        self.0 as usize
    }

    /// Bytes in each cell of this bin, a multiple of 8 (of 16 above 64 bytes).
    #[inline(always)]
    pub const fn cell_bytes(self) -> usize {
        CELL_BYTES[self.index()] as usize
    }
}

/// Number of bins with cells of at most `bytes`, a power of two from 64 up.
#[inline(always)]
pub(crate) const fn bins_up_to(bytes: usize) -> usize {
    let log = bytes.ilog2();
    if log > LOG_LARGE_BYTES {
        LARGE_BIN + 9 * (log - LOG_LARGE_BYTES) as usize
    } else if log > LOG_ARRAY_BYTES {
        ARRAY_BIN + 5 * (log - LOG_ARRAY_BYTES) as usize
    } else {
        LINEAR_BINS + 4 * (log - LOG_LINEAR_BYTES) as usize
    }
}

/// The cell sizes of the doubling from `1 << log` bytes, where it has four beside an array's, in 32nds.
const fn steps(log: u32) -> [usize; 4] {
    match log {
        6 | 7 => [40, 48, 56, 64],
        // 45/32 of 256 is no multiple of 16.
        8 => [38, 46, 54, 64],
        _ => GEOMETRIC,
    }
}

const fn cell_sizes() -> [u32; MAX_BINS] {
    let mut sizes = [0; MAX_BINS];
    let mut bin = 0;
    while bin < LINEAR_BINS {
        sizes[bin] = 8 * (bin as u32 + 1);
        bin += 1;
    }
    let mut log = LOG_LINEAR_BYTES;
    while bin < MAX_BINS {
        if log >= LOG_ARRAY_BYTES {
            sizes[bin] = ((1 << log) + ARRAY_HEADER_BYTES) as u32;
            bin += 1;
        }
        let many = if log < LOG_LARGE_BYTES { 4 } else { 8 };
        let mut step = 0;
        while step < many {
            let part = if many == 4 {
                steps(log)[step]
            } else {
                4 * (9 + step)
            };
            sizes[bin] = ((part << log) / 32) as u32;
            bin += 1;
            step += 1;
        }
        log += 1;
    }
    sizes
}

const fn bins_by_words<const LEN: usize>() -> [u8; LEN] {
    let mut table = [0; LEN];
    let mut bin = 0;
    let mut words = 0;
    while words < table.len() {
        if words * 8 > CELL_BYTES[bin as usize] as usize {
            bin += 1;
        }
        table[words] = bin;
        words += 1;
    }
    table
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Blocks, Config};

    fn smallest_bin(size: usize) -> usize {
        CELL_BYTES.iter().position(|&c| c as usize >= size).unwrap()
    }

    #[test]
    fn every_size_gets_the_smallest_cell_that_holds_it() {
        // Every byte size would take Miri an hour.
        let step = if cfg!(miri) { 509 } else { 1 };
        for size in (0..=MAX_CELL_BYTES).step_by(step) {
            assert_eq!(
                Bin::holding(size).index(),
                smallest_bin(size),
                "size {size}"
            );
            let by_words = BINS_BY_WORDS[size.div_ceil(8)] as usize;
            assert_eq!(by_words, smallest_bin(size), "size {size}");
        }
    }

    #[test]
    fn at_most_a_sixth_of_a_cell_is_unused_or_a_ninth_if_it_is_large() {
        for words in 1..=MAX_CELL_BYTES / 8 {
            let cell = Bin::holding(words * 8).cell_bytes();
            let part = if words * 8 > 8192 { 9 } else { 6 };
            assert!(part * (cell - words * 8) <= cell, "{} in {cell}", words * 8);
            assert!(words > 8 || cell == words * 8);
        }
    }

    #[test]
    fn an_array_whose_length_is_a_power_of_two_fills_its_cell() {
        for log in LOG_ARRAY_BYTES..MAX_CELL_BYTES.ilog2() {
            let array = (1 << log) + ARRAY_HEADER_BYTES;
            assert_eq!(Bin::holding(array).cell_bytes(), array);
        }
    }

    #[test]
    fn cells_are_aligned_and_grow() {
        for pair in CELL_BYTES.windows(2) {
            assert!(pair[0] < pair[1]);
            assert!(pair[1] <= 64 || pair[1] % 16 == 0);
            assert_eq!(pair[1] % 8, 0);
        }
    }

    fn ends_at_the_block<const LOG: u32>(bins: usize) {
        type C<const LOG: u32> = Blocks<LOG, false>;
        assert_eq!(C::<LOG>::BINS, bins);
        assert_eq!(Bin::from_index(bins - 1).cell_bytes(), 1 << LOG);
        assert_eq!(C::<LOG>::bin(1 << LOG, 8), Some(Bin::from_index(bins - 1)));
        assert_eq!(C::<LOG>::bin((1 << LOG) + 1, 8), None);
    }

    #[test]
    fn the_block_size_ends_the_sequence() {
        ends_at_the_block::<12>(34);
        ends_at_the_block::<13>(39);
        ends_at_the_block::<14>(48);
        ends_at_the_block::<15>(57);
        ends_at_the_block::<16>(66);
        ends_at_the_block::<17>(75);
        ends_at_the_block::<18>(84);
    }

    #[test]
    fn sixteen_byte_alignment_takes_cells_of_that_multiple() {
        type C = Blocks<16, false>;
        for size in 1..=SMALL_BYTES {
            let cell = C::bin(size, 16).unwrap().cell_bytes();
            assert!(cell >= size && cell % 16 == 0, "{size} in {cell}");
        }
        assert_eq!(C::bin(8, 32), None);
    }
}
