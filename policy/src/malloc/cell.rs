// SPDX-License-Identifier: MIT OR Apache-2.0
//! The link in the first word of a free cell.

use std::ptr::with_exposed_provenance_mut;

/// Makes `next` the successor of a free cell.
///
/// # Safety
/// The cell belongs to the caller, and nothing of the program is in it.
#[inline(always)]
pub(crate) unsafe fn link(cell: usize, next: usize) {
    // SAFETY: promised by the caller; cells are at least 8 bytes at multiples of 8.
    unsafe { with_exposed_provenance_mut::<usize>(cell).write(next) };
}

/// The successor of a free cell. 0 at the end.
///
/// # Safety
/// The cell is on a list of the caller.
#[inline(always)]
pub(crate) unsafe fn next(cell: usize) -> usize {
    // SAFETY: promised by the caller; `link` wrote the word.
    unsafe { with_exposed_provenance_mut::<usize>(cell).read() }
}

/// The cells of a list.
///
/// # Safety
/// The list belongs to the caller while the iterator is used, and the cell that it yielded last is changed only after
/// the next one was asked for.
pub(crate) unsafe fn list(head: usize) -> impl Iterator<Item = usize> {
    let mut cell = head;
    std::iter::from_fn(move || {
        let this = cell;
        if this == 0 {
            return None;
        }
        // SAFETY: promised by the caller.
        cell = unsafe { next(this) };
        Some(this)
    })
}
