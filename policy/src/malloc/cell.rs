// SPDX-License-Identifier: MIT OR Apache-2.0
//! The link in the first word of a free cell, which secure mode hides.

use super::secure::Secret;
use std::ptr::with_exposed_provenance_mut;

/// Makes `next` the successor of a free cell of the block with this secret.
///
/// # Safety
/// The cell belongs to the caller, and nothing of the program is in it.
#[inline(always)]
pub(crate) unsafe fn link(cell: usize, next: usize, secret: &Secret) {
    // SAFETY: promised by the caller; cells are at least 8 bytes at multiples of 8.
    unsafe { with_exposed_provenance_mut::<usize>(cell).write(secret.hide(next)) };
}

/// The successor of a free cell of the block with this secret. 0 at the end.
///
/// # Safety
/// The cell is on a list of the caller.
#[inline(always)]
pub(crate) unsafe fn next(cell: usize, secret: &Secret) -> usize {
    // SAFETY: promised by the caller; `link` wrote the word.
    secret.show(unsafe { with_exposed_provenance_mut::<usize>(cell).read() })
}

/// Erases the link of a cell that is handed out.
///
/// # Safety
/// The cell belongs to the caller.
#[inline(always)]
pub(crate) unsafe fn erase(cell: usize) {
    // SAFETY: promised by the caller.
    unsafe { with_exposed_provenance_mut::<usize>(cell).write(0) };
}
