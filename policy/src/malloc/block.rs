// SPDX-License-Identifier: MIT OR Apache-2.0
//! The header of a block, and the three lists of its cells.
//!
//! Every field but `owner`, `heap` and `thread_free` is written by the owner alone: the thread whose default heap `owner`
//! names. It changes hands by the states of [`ThreadFree`]; while a free is being delayed, the freeing thread writes
//! `cell_bytes` of a huge cell. What does not change while a cell is in use, any thread reads. The statistics of other threads read what `shown` has the types of.

use super::cell;
use super::heap::Heap;
use super::secure::{self, Secret, Wrong, GUARD_PAGES};
use super::shown::{ShownU32, ShownU8, ShownUsize};
use super::thread;
use crate::config::PAGE_BYTES;
use crate::prefetch::prefetch;
use crate::thread_free::{Freed, ThreadFree};
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicPtr, AtomicUsize};

/// Set in [`Block::owner`] while the block is on the full list, so that one comparison tells a free of the owner that
/// needs nothing more from all others.
pub(crate) const FULL: usize = 1;
/// Set in [`Block::bin`] of a block that is one cell, of any number of pages.
pub(crate) const SINGLE: u8 = u8::MAX;
/// Bytes of cells that are linked at once where a block grows.
const GROWTH_BYTES: usize = PAGE_BYTES;

/// The header of a block. All zero before its first use.
#[repr(C, align(128))]
pub struct Block {
    /// Cells to be handed out.
    pub(crate) free: Cell<usize>,
    /// Cells that the owner freed since it took the last such list over into `free`.
    pub(crate) local_free: Cell<usize>,
    /// Address of the default heap of the thread that owns the block, with [`FULL`]; 0 for an abandoned block.
    pub(crate) owner: AtomicUsize,
    /// Cells handed out, and not seen to be free since.
    pub(crate) used: Cell<u32>,
    /// Cells that were linked once; the others were never touched.
    pub(crate) capacity: ShownU32,
    pub(crate) start: Cell<usize>,
    pub(crate) secret: Secret,
    /// Cells in the block.
    pub(crate) reserved: Cell<u32>,
    pub(crate) bin: ShownU8,
    /// Calls of the generic path until the block is given back if it is empty; 0 if that is not planned.
    pub(crate) retire: Cell<u8>,
    /// Whether all of its pages were as the OS gave them when it was claimed: they read as zero.
    pub(crate) fresh: Cell<bool>,
    pub(crate) cell_bytes: ShownUsize,
    /// The neighbours in its queue.
    pub(crate) next: Cell<*const Block>,
    pub(crate) previous: Cell<*const Block>,
    /// Cells that other threads freed.
    pub(crate) thread_free: ThreadFree,
    /// The heap whose queues the block is in. Other threads read it while they delay a free.
    pub(crate) heap: AtomicPtr<Heap>,
    /// Its pages in the chunk.
    pub(crate) first_page: Cell<u16>,
    pub(crate) pages: Cell<u16>,
    /// `used` when cells were last put on the list to be handed out, or when the block fell empty or was abandoned.
    pub(crate) shown_used: ShownU32,
}
// What each allocation and each free uses is in the first cache line, and there are two.
const _: () = assert!(std::mem::offset_of!(Block, secret) + secure::USED_EACH_TIME == 64);
const _: () = assert!(std::mem::size_of::<Block>() == 128);

// SAFETY: the plain fields are used by the owner alone, as the module says.
unsafe impl Sync for Block {}

impl Block {
    /// A block without cells, where a list has no block.
    #[allow(clippy::declare_interior_mutable_const)] // It is copied, never used in place.
    pub(crate) const EMPTY: Block = Block {
        free: Cell::new(0),
        local_free: Cell::new(0),
        owner: AtomicUsize::new(0),
        used: Cell::new(0),
        capacity: ShownU32::new(0),
        start: Cell::new(0),
        secret: Secret::new(),
        reserved: Cell::new(0),
        bin: ShownU8::new(0),
        retire: Cell::new(0),
        fresh: Cell::new(false),
        cell_bytes: ShownUsize::new(0),
        next: Cell::new(std::ptr::null()),
        previous: Cell::new(std::ptr::null()),
        thread_free: ThreadFree::new(),
        heap: AtomicPtr::new(std::ptr::null_mut()),
        first_page: Cell::new(0),
        pages: Cell::new(0),
        shown_used: ShownU32::new(0),
    };

    /// Makes the header that of a block of cells of `cell_bytes` without linking any.
    pub(crate) fn init(&self, bin: u8, cell_bytes: usize, start: usize, pages: Range<usize>) {
        let bytes = pages.len().saturating_sub(GUARD_PAGES) * PAGE_BYTES;
        self.free.set(0);
        self.local_free.set(0);
        self.used.set(0);
        self.show_used();
        self.capacity.set(0);
        let single = bin == SINGLE;
        self.reserved.set(if single {
            1
        } else {
            (bytes / cell_bytes) as u32
        });
        debug_assert!(self.reserved.get() <= ThreadFree::MAX_CELLS);
        self.bin.set(bin);
        self.retire.set(0);
        self.cell_bytes.set(cell_bytes);
        self.start.set(start);
        self.first_page.set(pages.start as u16);
        self.pages.set(pages.len() as u16);
    }

    /// Whether the block is one cell.
    pub(crate) fn is_single(&self) -> bool {
        self.bin.get() == SINGLE
    }

    /// The thread that owns the block, as in [`Block::owner`].
    #[inline(always)]
    pub(crate) fn owner(&self) -> usize {
        self.owner.load(Relaxed) & !FULL
    }

    /// Whether the calling thread owns the block.
    pub(crate) fn is_mine(&self) -> bool {
        self.owner() == thread::default_heap().addr()
    }

    pub(crate) fn is_full_listed(&self) -> bool {
        self.owner.load(Relaxed) & FULL != 0
    }

    pub(crate) fn set_full_listed(&self, full: bool) {
        let flag = if full { FULL } else { 0 };
        self.owner.store(self.owner() | flag, Relaxed);
    }

    /// Takes a cell from the list to hand it out.
    #[inline(always)]
    pub(crate) fn pop(&self) -> Option<usize> {
        let cell = self.free.get();
        if cell == 0 {
            return None;
        }
        // SAFETY: the caller owns the block, and the cell is on its list.
        let next = unsafe { self.successor(cell) };
        self.free.set(next);
        if secure::ON {
            prefetch(next);
            // SAFETY: as above; it is on no list now.
            unsafe { cell::erase(cell) };
        }
        self.used.set(self.used.get() + 1);
        Some(cell)
    }

    /// Puts a cell that the program gave back on the local-free list. The number of cells in use.
    #[inline(always)]
    pub(crate) fn push_local(&self, cell: usize) -> u32 {
        // SAFETY: the program gave the cell back, and the caller owns the block.
        unsafe { cell::link(cell, self.local_free.get(), &self.secret) };
        self.local_free.set(cell);
        let used = self.used.get().wrapping_sub(1);
        self.used.set(used);
        used
    }

    /// Takes back what other threads freed, and has cells to be handed out if any are free.
    pub(crate) fn collect(&self) {
        let freed = self.thread_free.take();
        if freed.count != 0 {
            self.put_back(freed);
        }
        if self.free.get() == 0 {
            self.reuse_local();
        }
    }

    /// Makes the cells that the owner freed those to be handed out, of which there are none.
    pub(crate) fn reuse_local(&self) {
        self.list(self.local_free.replace(0));
    }

    /// Makes the cells from `first` on those to be handed out.
    fn list(&self, first: usize) {
        self.free.set(first);
        self.show_used();
    }

    /// Lets other threads see how many cells are in use.
    pub(crate) fn show_used(&self) {
        self.shown_used.set(self.used.get());
    }

    /// Takes back cells that other threads freed. They become a list of the block as they are, if it has an empty one, so that
    /// each is first read when it is handed out.
    pub(crate) fn put_back(&self, freed: Freed) {
        if secure::ON && freed.count > self.used.get() {
            secure::die(Wrong::DoubleFree, freed.first);
        }
        self.used.set(self.used.get() - freed.count);
        if self.free.get() == 0 {
            self.list(freed.first);
        } else if self.local_free.get() == 0 {
            self.local_free.set(freed.first);
        } else {
            self.join_local(freed.first);
        }
    }

    /// Ends the program unless each cell that was linked is on a list of the owner's. Where the owner and another thread free a cell
    /// at the same time, the block seems empty when one is in use still.
    pub(crate) fn check_empty(&self) {
        let lists = [self.free.get(), self.local_free.get()].into_iter();
        // SAFETY: the caller owns the block.
        let free = lists.flat_map(|list| unsafe { self.cells(list) }).count();
        if free != self.capacity.get() as usize {
            secure::die(Wrong::DoubleFree, self.start.get());
        }
    }

    /// Puts the cells of a list of the caller's in front of those that the owner freed.
    #[cold]
    fn join_local(&self, list: usize) {
        // SAFETY: the list is the caller's, who owns the block.
        if let Some(last) = unsafe { self.cells(list) }.last() {
            // SAFETY: as above.
            unsafe { cell::link(last, self.local_free.get(), &self.secret) };
            self.local_free.set(list);
        }
    }

    /// Whether cells are left that were never linked.
    pub(crate) fn can_grow(&self) -> bool {
        self.capacity.get() < self.reserved.get()
    }

    /// Links more cells, about a page of them. False if all are.
    pub(crate) fn grow(&self) -> bool {
        let (capacity, bytes) = (self.capacity.get(), self.cell_bytes.get());
        let most = (GROWTH_BYTES / bytes).max(1) as u32;
        let count = most.min(self.reserved.get() - capacity);
        if count == 0 {
            return false;
        }
        let first = self.start.get() + capacity as usize * bytes;
        let head = if secure::ON {
            self.link_shuffled(first, count)
        } else {
            self.link_in_order(first, count)
        };
        self.list(head);
        self.capacity.set(capacity + count);
        self.secret.set_area(self.touched_bytes());
        true
    }

    /// Links `count` untouched cells from `first` on, in front of the list.
    fn link_in_order(&self, first: usize, count: u32) -> usize {
        let bytes = self.cell_bytes.get();
        let mut cell = first;
        for _ in 1..count {
            // SAFETY: the cells are of this block, which the caller owns, and were never handed out.
            unsafe { cell::link(cell, cell + bytes, &self.secret) };
            cell += bytes;
        }
        // SAFETY: as above.
        unsafe { cell::link(cell, self.free.get(), &self.secret) };
        first
    }

    /// As [`link_in_order`](Block::link_in_order), but in random order.
    fn link_shuffled(&self, first: usize, count: u32) -> usize {
        let mut order = [0u16; GROWTH_BYTES / 8];
        let mut bits = 0;
        for at in 0..count as usize {
            // Each number serves for four.
            bits = if at % 4 == 0 {
                self.secret.random()
            } else {
                bits >> 16
            };
            let other = (bits as u16 as usize * (at + 1)) >> 16;
            order[at] = order[other];
            order[other] = at as u16;
        }
        let mut head = self.free.get();
        for &index in &order[..count as usize] {
            let cell = first + index as usize * self.cell_bytes.get();
            // SAFETY: the cells are of this block, which the caller owns, and were never handed out.
            unsafe { cell::link(cell, head, &self.secret) };
            head = cell;
        }
        head
    }

    /// The successor of a free cell of the block. 0 at the end.
    ///
    /// # Safety
    /// The cell is on a list of the caller.
    #[inline(always)]
    unsafe fn successor(&self, cell: usize) -> usize {
        // SAFETY: promised by the caller.
        let next = unsafe { cell::next(cell, &self.secret) };
        secure::check_link(self, cell, next);
        next
    }

    /// The cells of a list. In secure mode, one that has no end, as it has a cell twice, ends the program.
    ///
    /// # Safety
    /// The list is one of cells of the block and belongs to the caller while the iterator is used, and the cell that it yielded
    /// last is changed only after the next one was asked for.
    pub(crate) unsafe fn cells(&self, list: usize) -> impl Iterator<Item = usize> + '_ {
        let mut next = list;
        let mut left = self.capacity.get();
        std::iter::from_fn(move || {
            let cell = next;
            if cell == 0 {
                return None;
            }
            if secure::ON {
                secure::check_left(left, cell);
                left -= 1;
            }
            // SAFETY: promised by the caller.
            next = unsafe { self.successor(cell) };
            Some(cell)
        })
    }

    /// Bytes from the start of the block that may have been touched since it was claimed.
    pub(crate) fn touched_bytes(&self) -> usize {
        self.capacity.get() as usize * self.cell_bytes.get()
    }
}
