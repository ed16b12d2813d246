// SPDX-License-Identifier: MIT OR Apache-2.0
//! The link in the first word of a free cell. In secure mode it is encoded by the key of its block, and checked.

use super::block::Block;
use std::ptr::with_exposed_provenance_mut;

/// The word in a free cell, as it is to be stored for `next`, or the link that it stores: both are the same step.
#[inline(always)]
fn encoded(block: &Block, cell: usize, word: usize) -> usize {
    #[cfg(feature = "secure")]
    return word ^ block.key.get() ^ cell.rotate_left(21);
    #[cfg(not(feature = "secure"))]
    {
        let _ = (block, cell);
        word
    }
}

/// Makes `next` the successor of a free cell of `block`.
///
/// # Safety
/// The cell belongs to the caller, and nothing of the program is in it.
#[inline(always)]
pub(crate) unsafe fn link(block: &Block, cell: usize, next: usize) {
    // SAFETY: promised by the caller; cells are at least 8 bytes at multiples of 8.
    unsafe { with_exposed_provenance_mut::<usize>(cell).write(encoded(block, cell, next)) };
}

/// The successor of a free cell, which may be of another block. 0 at the end.
///
/// # Safety
/// The cell is on a list of the caller.
#[inline(always)]
pub(crate) unsafe fn next_anywhere(block: &Block, cell: usize) -> usize {
    // SAFETY: promised by the caller; `link` wrote the word.
    let word = unsafe { with_exposed_provenance_mut::<usize>(cell).read() };
    encoded(block, cell, word)
}

/// The successor of a free cell on a list of `block`. 0 at the end.
///
/// # Safety
/// The cell is on a list of `block`, which belongs to the caller.
#[inline(always)]
pub(crate) unsafe fn next(block: &Block, cell: usize) -> usize {
    // SAFETY: promised by the caller.
    let next = unsafe { next_anywhere(block, cell) };
    #[cfg(feature = "secure")]
    if next != 0 && !block.has_cell(next) {
        super::secure::fail("an overwritten free list", cell);
    }
    next
}

/// The cells of a list of `block`.
///
/// # Safety
/// The list belongs to the caller while the iterator is used, and the cell that it yielded last is changed only after
/// the next one was asked for.
pub(crate) unsafe fn list(block: &Block, head: usize) -> impl Iterator<Item = usize> + '_ {
    let mut cell = head;
    std::iter::from_fn(move || {
        let this = cell;
        if this == 0 {
            return None;
        }
        // SAFETY: promised by the caller.
        cell = unsafe { next(block, this) };
        Some(this)
    })
}
