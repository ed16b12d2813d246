// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread allocates from: by bin a bump region, and a free list whose cells are linked through their first word.
//!
//! The layout of [`Heads`] is part of the plugin ABI. The VM places it in its thread structure, and compiled code
//! allocates from bin `b` so, with `head` the address of the thread's `Head` of `b`:
//!
//! ```text
//! cell = load(head.cursor)
//! if cell != load(head.end)
//!     store(head.cursor, cell + cell size of b)
//! else
//!     cell = load(head.free)
//!     if cell == 0 goto slow path
//!     store(head.free, load(cell))
//! ```
//!
//! For an object of constant size, `b` and its cell size are constants. For one of variable size, `b` is the byte
//! `(size + 7) >> 3` of [`BINS_BY_WORDS`](crate::BINS_BY_WORDS), and the cell size stands in the head.

use crate::size_class::{Bin, MAX_BINS};
use std::mem::offset_of;
use std::num::NonZeroUsize;
use std::ops::Range;

/// Bytes in [`Head`].
pub const HEAD_BYTES: usize = 32;
/// Bytes in [`Heads`], whatever the block size, so that one VM serves every build.
pub const HEADS_BYTES: usize = MAX_BINS * HEAD_BYTES + size_of::<u64>();

/// The free cells of one bin that a thread has at hand. All zero is none.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Head {
    /// Address of the next cell of the bump region; equal to `end` if the region is empty.
    cursor: usize,
    /// Where the bump region ends: a whole number of cells from `cursor`.
    end: usize,
    /// Address of the first cell of the free list, or 0.
    free: usize,
    /// Bytes in a cell of this bin, whenever there is a bump region.
    cell_bytes: usize,
}

/// The heads of all bins: what the thread has of the blocks that it allocates from. Used by one thread at a time, or
/// by the collector while that thread is stopped. All zero is empty.
#[repr(C)]
#[derive(Debug)]
pub struct Heads {
    bins: [Head; MAX_BINS],
    /// Bytes of all cells that were ever put into the heads. As cells are taken without a count, this is
    /// how much the thread has allocated, and a little more.
    refilled_bytes: u64,
}

const _: () = assert!(size_of::<Heads>() == HEADS_BYTES && size_of::<Head>() == HEAD_BYTES);
// Compiled code knows where they are.
const _: () = assert!(
    offset_of!(Head, cursor) == 0
        && offset_of!(Head, end) == 8
        && offset_of!(Head, free) == 16
        && offset_of!(Head, cell_bytes) == 24
        && offset_of!(Heads, refilled_bytes) == MAX_BINS * HEAD_BYTES
);

/// Free cells of one block on their way to a thread or back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    /// Addresses between which cells lie one behind the other.
    pub bump: Range<usize>,
    /// Address of the first of the linked ones, or 0.
    pub list: usize,
    /// How many there are in both.
    pub count: u32,
}

impl Cells {
    /// The first `few` cells, of `cell_bytes` bytes each, and the others. The caller owns them.
    pub fn split(self, few: usize, cell_bytes: usize) -> (Cells, Cells) {
        let bumped = (few * cell_bytes).min(self.bump.len());
        let middle = self.bump.start + bumped;
        let mut taken = bumped / cell_bytes;
        let (mut list, mut rest) = (0, self.list);
        if taken < few && self.list != 0 {
            list = self.list;
            let last = cells(list).take(few - taken).inspect(|_| taken += 1).last();
            let last = last.expect("the list is not empty");
            // SAFETY: the cell is free and the caller's.
            rest = unsafe { next(last) };
            // SAFETY: as above.
            unsafe { set_next(last, 0) };
        }
        let first = Cells {
            bump: self.bump.start..middle,
            list,
            count: taken as u32,
        };
        let others = Cells {
            bump: middle..self.bump.end,
            list: rest,
            count: self.count - taken as u32,
        };
        (first, others)
    }
}

impl Default for Heads {
    fn default() -> Self {
        Heads {
            bins: [Head::default(); MAX_BINS],
            refilled_bytes: 0,
        }
    }
}

impl Heads {
    /// Takes a free cell of `bin`, or nothing if there is none: the fast path. The contents of the cell are
    /// arbitrary.
    #[inline(always)]
    pub fn pop(&mut self, bin: Bin) -> Option<NonZeroUsize> {
        let head = &mut self.bins[bin.index()];
        if head.cursor != head.end {
            let cell = head.cursor;
            head.cursor += bin.cell_bytes();
            return NonZeroUsize::new(cell);
        }
        let cell = NonZeroUsize::new(head.free)?;
        // SAFETY: an address other than 0 was put here by `Local`, and is a free cell of the heap that
        // this thread alone may touch.
        head.free = unsafe { next(cell.get()) };
        Some(cell)
    }

    /// Whether there is no free cell of `bin`.
    #[inline(always)]
    pub fn is_empty(&self, bin: Bin) -> bool {
        let head = &self.bins[bin.index()];
        head.cursor == head.end && head.free == 0
    }

    /// The free cells of `bin`, in the order in which they will be handed out.
    pub(crate) fn cells(&self, bin: Bin) -> impl Iterator<Item = usize> + '_ {
        let head = &self.bins[bin.index()];
        let bumped = (head.cursor..head.end).step_by(bin.cell_bytes());
        bumped.chain(cells(head.free))
    }

    /// Gives `cells` to `bin`, which has none.
    pub(crate) fn fill(&mut self, bin: Bin, cells: Cells) {
        debug_assert!(self.is_empty(bin));
        self.bins[bin.index()] = Head {
            cursor: cells.bump.start,
            end: cells.bump.end,
            free: cells.list,
            cell_bytes: bin.cell_bytes(),
        };
        self.refilled_bytes += u64::from(cells.count) * bin.cell_bytes() as u64;
    }

    /// Takes what `bin` has.
    pub(crate) fn take(&mut self, bin: Bin) -> Cells {
        let head = std::mem::take(&mut self.bins[bin.index()]);
        let (list, bump) = (head.free, head.cursor..head.end);
        let count = cells(list).count() + bump.len() / bin.cell_bytes();
        Cells {
            bump,
            list,
            count: count as u32,
        }
    }

    /// Empties all heads.
    pub(crate) fn clear(&mut self) {
        self.bins = [Head::default(); MAX_BINS];
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
    count: usize,
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

    /// Number of cells so far.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The first cell of the list, or 0 if none was appended.
    pub(crate) fn finish(self) -> usize {
        if self.last != 0 {
            // SAFETY: `append`'s caller vouched for the last cell.
            unsafe { set_next(self.last, 0) };
        }
        self.head
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
    fn a_bump_region_comes_before_the_list() {
        let mut memory = [7usize; 64];
        let base = memory.as_mut_ptr().expose_provenance();
        let mut linker = Linker::new();
        // SAFETY: all within `memory`.
        unsafe {
            linker.append(base, base + 64, 32);
            linker.append(base + 128, base + 129, 32);
        }
        assert_eq!(linker.count(), 3);
        let mut heads = Heads::default();
        let bin = Bin::holding(32);
        let cells = Cells {
            bump: base + 256..base + 320,
            list: linker.finish(),
            count: 5,
        };
        heads.fill(bin, cells);
        assert_eq!(heads.refilled_bytes, 5 * 32);
        assert_eq!(heads.cells(bin).count(), 5);
        let popped: Vec<_> = std::iter::from_fn(|| heads.pop(bin))
            .map(|cell| cell.get() - base)
            .collect();
        assert_eq!(popped, [256, 288, 0, 32, 128]);
        assert!(heads.is_empty(bin));
        // Nothing but links is written.
        assert_eq!(memory[1..4], [7; 3]);
        assert_eq!(memory[32..], [7; 32]);
    }

    #[test]
    fn no_cells_make_no_list() {
        assert_eq!(Linker::new().finish(), 0);
    }
}
