// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which cells a `malloc` needs: those of the collector's bins whose size is 8 or a multiple of 16.

use crate::config::PAGE_BYTES;
use crate::size_class::{Bin, MAX_BINS, SMALL_BYTES};
use std::ops::RangeInclusive;

/// The largest cell of which a block has several.
pub(crate) const MAX_BINNED_BYTES: usize = 64 << 10;
/// The largest cell in blocks of the shortest length.
pub(crate) const MAX_SMALL_BYTES: usize = 8 << 10;
/// Cells in a block of larger ones.
const LARGE_CELLS: usize = 8;

/// The bin for `size` bytes, at most [`MAX_BINNED_BYTES`]. Cells of 16 bytes and more are aligned to 16.
#[inline(always)]
pub(crate) const fn bin(size: usize) -> Bin {
    Bin::holding(if size <= 8 { 8 } else { (size + 15) & !15 })
}

/// Pages of a block of cells of `bytes`, which may be below the length of the shortest block.
pub(crate) const fn block_pages(bytes: usize) -> usize {
    if bytes <= MAX_SMALL_BYTES {
        return 0;
    }
    (LARGE_CELLS * bytes).div_ceil(PAGE_BYTES)
}

const NO_WORDS: (u8, u8) = (1, 0);
const WORDS: [(u8, u8); MAX_BINS] = {
    let mut table = [NO_WORDS; MAX_BINS];
    let mut words = SMALL_BYTES / 8;
    loop {
        let entry = &mut table[bin(words * 8).index()];
        if entry.1 == 0 {
            entry.1 = words as u8;
        }
        entry.0 = words as u8;
        if words == 0 {
            break table;
        }
        words -= 1;
    }
};

/// The sizes in words, up to [`SMALL_BYTES`], that the bin serves; none if it is of no use here.
pub(crate) fn words_of(bin: Bin) -> RangeInclusive<usize> {
    let (first, last) = WORDS[bin.index()];
    first as usize..=last as usize
}

/// The bin with the smallest cells that hold `size` bytes at a multiple of `align`, a power of two up to the page. None if
/// there is none with several cells a block.
pub(crate) fn aligned_bin(size: usize, align: usize) -> Option<Bin> {
    let mut bytes = size.max(1).checked_next_multiple_of(align)?;
    while bytes <= MAX_BINNED_BYTES {
        let bin = bin(bytes);
        if bin.cell_bytes() % align == 0 {
            return Some(bin);
        }
        bytes = (bin.cell_bytes() + 1).next_multiple_of(align);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_their_size_and_are_aligned() {
        for size in 0..=MAX_BINNED_BYTES {
            let cell = bin(size).cell_bytes();
            assert!(
                cell >= size && (cell == 8 || cell % 16 == 0),
                "{size}: {cell}"
            );
        }
    }

    #[test]
    fn the_table_of_words_is_that_of_bins() {
        for words in 0..=SMALL_BYTES / 8 {
            assert!(words_of(bin(words * 8)).contains(&words), "{words}");
        }
        let all: usize = (0..MAX_BINS)
            .map(|bin| words_of(Bin::from_index(bin)).count())
            .sum();
        assert_eq!(all, SMALL_BYTES / 8 + 1);
    }

    #[test]
    fn aligned_cells_waste_less_than_half() {
        for align in (4..=12).map(|log| 1 << log) {
            for size in (1..MAX_BINNED_BYTES / 2).step_by(97) {
                let cell = aligned_bin(size, align).unwrap().cell_bytes();
                assert!(cell >= size && cell % align == 0);
                assert!(
                    cell < 2 * size.next_multiple_of(align),
                    "{size} at {align}: {cell}"
                );
            }
        }
    }
}
