// SPDX-License-Identifier: MIT OR Apache-2.0
//! Free lists: cells linked through their first word, and the heads that a thread pops from.
//!
//! The layout of [`Heads`] is part of the plugin ABI. The VM places it in its thread structure, and
//! compiled code allocates from bin `b` so:
//!
//! ```text
//! cell = load(thread + heads + b * HEAD_BYTES)
//! if cell == 0 goto slow path
//! store(thread + heads + b * HEAD_BYTES, load(cell))
//! ```
//!
//! For an object of constant size, `b` is a constant. For one of variable size up to
//! [`SMALL_BYTES`](crate::SMALL_BYTES) it is the byte `(size + 7) >> 3` of
//! [`SMALL_BINS`](crate::SMALL_BINS).

use crate::size_class::{Bin, MAX_BINS};
use std::num::NonZeroUsize;

/// Bytes in a free-list head: an address, or 0 for an empty list.
pub const HEAD_BYTES: usize = 8;
/// Bytes in [`Heads`], whatever the block size, so that one VM serves every build.
pub const HEADS_BYTES: usize = MAX_BINS * HEAD_BYTES + size_of::<u64>();

/// The heads of a thread's free lists, by bin: the list of the block that the thread allocates from.
/// Used by one thread at a time, or by the collector while that thread is stopped. All zero is empty.
#[repr(C)]
#[derive(Debug)]
pub struct Heads {
    free: [usize; MAX_BINS],
    /// Bytes of all cells that were ever put into the lists. As cells are taken without a count, this is
    /// how much the thread has allocated, and a little more.
    refilled_bytes: u64,
}

const _: () = assert!(size_of::<Heads>() == HEADS_BYTES && size_of::<usize>() == HEAD_BYTES);

impl Default for Heads {
    fn default() -> Self {
        Heads {
            free: [0; MAX_BINS],
            refilled_bytes: 0,
        }
    }
}

impl Heads {
    /// Takes a free cell of `bin`, or nothing if the list is empty: the fast path. The contents of
    /// the cell are arbitrary.
    #[inline(always)]
    pub fn pop(&mut self, bin: Bin) -> Option<NonZeroUsize> {
        let cell = NonZeroUsize::new(self.free[bin.index()])?;
        // SAFETY: a head other than 0 was put here by `Local`, and is a free cell of the heap that
        // this thread alone may touch.
        self.free[bin.index()] = unsafe { next(cell.get()) };
        Some(cell)
    }

    /// Whether there is no free cell in the list of `bin`.
    #[inline(always)]
    pub fn is_empty(&self, bin: Bin) -> bool {
        self.free[bin.index()] == 0
    }

    /// The free cells of `bin`, in the order in which they will be handed out.
    pub(crate) fn cells(&self, bin: Bin) -> impl Iterator<Item = usize> + '_ {
        cells(self.free[bin.index()])
    }

    /// Fills the list of `bin`, which is empty, with the `count` cells that begin at `head`.
    pub(crate) fn fill(&mut self, bin: Bin, head: NonZeroUsize, count: u32) {
        debug_assert!(self.is_empty(bin));
        self.free[bin.index()] = head.get();
        self.refilled_bytes += u64::from(count) * bin.cell_bytes() as u64;
    }

    /// Empties the list of `bin` and returns its head.
    pub(crate) fn take(&mut self, bin: Bin) -> usize {
        std::mem::take(&mut self.free[bin.index()])
    }

    /// Empties all lists.
    pub(crate) fn clear(&mut self) {
        self.free = [0; MAX_BINS];
    }
}

/// The list of free cells from `head` on. The list must not change meanwhile.
pub(crate) fn cells(head: usize) -> impl Iterator<Item = usize> + use<> {
    let link = |cell| (cell != 0).then_some(cell);
    // SAFETY: every cell on a list is free, and its first word is the link to the next.
    std::iter::successors(link(head), move |&cell| link(unsafe { next(cell) }))
}

/// # Safety
/// `cell` must be a cell on a free list that the caller owns.
#[inline(always)]
unsafe fn next(cell: usize) -> usize {
    // SAFETY: a free cell is mapped, aligned to 8 bytes, and holds the next cell's address.
    unsafe { std::ptr::with_exposed_provenance::<usize>(cell).read() }
}

/// Links cells into a free list, front to back.
pub(crate) struct Linker {
    head: usize,
    last: usize,
    count: u32,
}

impl Linker {
    pub(crate) fn new() -> Linker {
        Linker {
            head: 0,
            last: 0,
            count: 0,
        }
    }

    /// Appends the cells at `from`, `from + step`, ... below `end`.
    ///
    /// # Safety
    /// Each must be a free cell of the heap, on charged pages, that the caller owns and that is on no
    /// list.
    #[inline]
    pub(crate) unsafe fn append(&mut self, from: usize, end: usize, step: usize) {
        let mut cell = from;
        while cell < end {
            if self.last == 0 {
                self.head = cell;
            } else {
                // SAFETY: `last` came from an earlier turn, so the caller vouches for it.
                unsafe { set_next(self.last, cell) };
            }
            self.last = cell;
            self.count += 1;
            cell += step;
        }
    }

    /// The head of the list and its length, or nothing if no cell was appended.
    pub(crate) fn finish(self) -> Option<(NonZeroUsize, u32)> {
        if self.last != 0 {
            // SAFETY: `append`'s caller vouched for the last cell.
            unsafe { set_next(self.last, 0) };
        }
        NonZeroUsize::new(self.head).map(|head| (head, self.count))
    }
}

/// # Safety
/// `cell` must be a free cell on charged pages that the caller owns.
#[inline(always)]
unsafe fn set_next(cell: usize, next: usize) {
    // SAFETY: a free cell is mapped, aligned to 8 bytes, and its first word is the allocator's.
    unsafe { std::ptr::with_exposed_provenance_mut::<usize>(cell).write(next) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn cells_are_popped_in_the_order_they_were_linked() {
        let mut memory = [7usize; 32];
        let base = memory.as_mut_ptr().expose_provenance();
        let mut linker = Linker::new();
        // SAFETY: all within `memory`.
        unsafe {
            linker.append(base, base + 64, 32);
            linker.append(base + 128, base + 129, 32);
        }
        let (head, count) = linker.finish().unwrap();
        assert_eq!(count, 3);
        let mut heads = Heads::default();
        let bin = Bin::holding(32);
        heads.fill(bin, head, count);
        assert_eq!(heads.refilled_bytes, 3 * 32);
        assert_eq!(heads.cells(bin).count(), 3);
        let popped: Vec<_> = std::iter::from_fn(|| heads.pop(bin))
            .map(|cell| cell.get() - base)
            .collect();
        assert_eq!(popped, [0, 32, 128]);
        assert!(heads.is_empty(bin));
        // Point 7 of the design: nothing but links is written.
        assert_eq!(memory[1..4], [7; 3]);
    }

    #[test]
    fn no_cells_make_no_list() {
        assert!(Linker::new().finish().is_none());
    }
}
