// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of C's `malloc` family, without its names and its `errno`: null says that the OS has no memory.

use super::block::Block;
use super::chunk::{block_of, MIN_BLOCK_PAGES};
use super::heap::Heap;
use super::{large, options, os, release, secure, sizes, thread};
use crate::config::{CHUNK_BYTES, PAGE_BYTES};
use std::ptr::{null_mut, with_exposed_provenance_mut};

/// What gets shorter by so many bytes or more, and stays where it is, gives the memory of those bytes back to the OS, unless they are
/// no more than the room of what grows in steps.
const TRIM_BYTES: usize = 1 << 20;
/// What grows and has to move gets room for one part in so many more: see [`alloc_to_move`].
const ROOM_FRACTION: usize = 8;

/// Bytes at multiples of 16, or of 8 if they are 8 or less. A size of 0 has an address of its own, too.
#[inline(always)]
pub fn malloc(size: usize) -> *mut u8 {
    // SAFETY: there is always one, it is the thread's, and it stays while that runs.
    unsafe { heap_malloc(&*thread::default_heap(), size) }
}

/// As [`malloc`] where that takes a few instructions; null where there is more to do. So a caller has a path without a call.
#[inline(always)]
pub fn malloc_at_once(size: usize) -> *mut u8 {
    // SAFETY: as in `malloc`.
    let heap = unsafe { &*thread::default_heap() };
    with_exposed_provenance_mut(heap.allocate_at_once(size).unwrap_or(0))
}

/// As [`malloc`], in a heap.
///
/// # Safety
/// The heap is the calling thread's.
#[inline(always)]
pub unsafe fn heap_malloc(heap: &Heap, size: usize) -> *mut u8 {
    with_exposed_provenance_mut(heap.allocate(size))
}

/// As [`malloc`] of `count * size` bytes that are zero.
#[inline]
pub fn calloc(count: usize, size: usize) -> *mut u8 {
    // SAFETY: as in `malloc`.
    unsafe { heap_calloc(&*thread::default_heap(), count, size) }
}

/// As [`calloc`], in a heap.
///
/// # Safety
/// The heap is the calling thread's.
pub unsafe fn heap_calloc(heap: &Heap, count: usize, size: usize) -> *mut u8 {
    let Some(bytes) = count.checked_mul(size) else {
        return null_mut();
    };
    // SAFETY: promised by the caller; the cell was just allocated.
    unsafe { zeroed(heap_malloc(heap, bytes), bytes) }
}

/// Makes the first `bytes` bytes of a cell zero, unless they are as the OS gave them: only one that is a block of its own is known to be
/// such. Null stays null.
///
/// # Safety
/// The cell has so many bytes, and was just allocated for them.
unsafe fn zeroed(cell: *mut u8, bytes: usize) -> *mut u8 {
    // SAFETY: promised by the caller.
    let is_fresh =
        || bytes > sizes::MAX_BINNED_BYTES && unsafe { block_of(cell.addr()) }.fresh.get();
    if !cell.is_null() && !is_fresh() {
        // SAFETY: promised by the caller.
        unsafe { cell.write_bytes(0, bytes) };
    }
    cell
}

/// Frees what one of these functions returned; null is nothing to free.
///
/// # Safety
/// It was not freed before, and is not used any further.
#[inline(always)]
pub unsafe fn free(pointer: *mut u8) {
    // In secure mode, what tells addresses in a chunk from others tells null, too.
    if secure::ON || !pointer.is_null() {
        // SAFETY: promised by the caller.
        unsafe { release::free(pointer.expose_provenance()) };
    }
}

/// Bytes that the program may use at `pointer`, which one of these functions returned: at least those it asked for.
///
/// # Safety
/// It was not freed.
pub unsafe fn usable_size(pointer: *const u8) -> usize {
    if pointer.is_null() {
        return 0;
    }
    secure::check(pointer.addr());
    // SAFETY: promised by the caller.
    unsafe { block_of(pointer.addr()) }.cell_bytes.get()
}

/// Bytes at a multiple of `align`. Null unless that is a power of two, or if the OS has no memory.
pub fn aligned_alloc(align: usize, size: usize) -> *mut u8 {
    // SAFETY: as in `malloc`.
    unsafe { heap_aligned_alloc(&*thread::default_heap(), align, size) }
}

/// As [`aligned_alloc`] of bytes that are zero.
pub fn aligned_calloc(align: usize, size: usize) -> *mut u8 {
    // SAFETY: the cell was just allocated.
    unsafe { zeroed(aligned_alloc(align, size), size) }
}

/// As [`aligned_alloc`], in a heap.
///
/// # Safety
/// The heap is the calling thread's.
pub unsafe fn heap_aligned_alloc(heap: &Heap, align: usize, size: usize) -> *mut u8 {
    if !align.is_power_of_two() {
        return null_mut();
    }
    if align <= 8 || align == 16 && size > 8 {
        // SAFETY: promised by the caller.
        return unsafe { heap_malloc(heap, size) };
    }
    let bin = if align <= PAGE_BYTES {
        sizes::aligned_bin(size, align)
    } else {
        None
    };
    let cell = match (bin, thread::heap_or_start(heap)) {
        // The cells of a bin are at multiples of their size from the start of a page.
        (Some(bin), Some(heap)) => heap.allocate(bin.cell_bytes()),
        (None, Some(heap)) => {
            heap.beat();
            large::allocate(heap, size, align)
        }
        (_, None) => 0,
    };
    with_exposed_provenance_mut(cell)
}

/// Makes what is at `pointer` `size` bytes long, elsewhere if need be. Null, which is for more bytes alone, leaves it as it was.
///
/// # Safety
/// As for [`free`], unless null is returned.
pub unsafe fn realloc(pointer: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: promised by the caller.
    unsafe { aligned_realloc(pointer, 8, size) }
}

/// As [`realloc`], at a multiple of `align`, a power of two, at which `pointer` must be too.
///
/// # Safety
/// As for [`realloc`].
pub unsafe fn aligned_realloc(pointer: *mut u8, align: usize, size: usize) -> *mut u8 {
    if pointer.is_null() {
        return aligned_alloc(align, size);
    }
    // SAFETY: promised by the caller.
    let usable = unsafe { usable_size(pointer) };
    // SAFETY: promised by the caller.
    if unsafe { resize_in_place(pointer, usable, align, size) } {
        return pointer;
    }
    let new = alloc_to_move(align, usable, size);
    if new.is_null() {
        // What gets shorter may stay as long as it is.
        return if size <= usable { pointer } else { new };
    }
    // SAFETY: both have as many bytes, and the new ones were free.
    unsafe {
        new.copy_from_nonoverlapping(pointer, usable.min(size));
        free(pointer);
    }
    new
}

/// A cell of `size` bytes for what is in one of `usable`. Huge ones that grow in steps would each be copied again and again, and in secure
/// mode all that are a block each. Room that is not touched costs no memory, but addresses, which the kernel may count.
fn alloc_to_move(align: usize, usable: usize, size: usize) -> *mut u8 {
    let least = if secure::ON {
        sizes::MAX_BINNED_BYTES + 1
    } else {
        CHUNK_BYTES
    };
    if size > usable && size >= least {
        let with_room = aligned_alloc(align, size.saturating_add(size / ROOM_FRACTION));
        if !with_room.is_null() {
            return with_room;
        }
    }
    aligned_alloc(align, size)
}

/// Whether `size` bytes are well kept where they are. The memory behind them goes back to the OS where it is [`TRIM_BYTES`] or more, and
/// more than the room that [`alloc_to_move`] leaves: what grows inside that makes no call of the OS at each step.
unsafe fn resize_in_place(pointer: *mut u8, usable: usize, align: usize, size: usize) -> bool {
    // Elsewhere no shorter cell is at such a multiple.
    let least = if align <= PAGE_BYTES {
        align
    } else {
        MIN_BLOCK_PAGES * PAGE_BYTES
    };
    if size <= usable && size.max(least) >= usable / 2 {
        let rest = (pointer.addr() + size).next_multiple_of(PAGE_BYTES);
        // Cells are whole pages, so the room may be up to a page longer.
        let room = usable / (ROOM_FRACTION + 1) + PAGE_BYTES;
        if usable - size >= TRIM_BYTES.max(room) && options::reset_delay().is_some() {
            os::reset(rest, pointer.addr() + usable - rest);
        }
        return true;
    }
    // SAFETY: promised by the caller.
    let block: &Block = unsafe { block_of(pointer.addr()) };
    block.is_single()
        && size > sizes::MAX_BINNED_BYTES
        && block.is_mine()
        && large::resize_in_place(block, size)
}
