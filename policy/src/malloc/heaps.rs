// SPDX-License-Identifier: MIT OR Apache-2.0
//! First-class heaps: a thread makes more heaps than its default one, to free all of their cells at once, or to look at
//! them. A heap serves the thread that made it; its cells can be freed by any.
//!
//! ```
//! use shardsweep_policy::malloc::{heap_malloc, heaps};
//!
//! let heap = heaps::new().unwrap();
//! // SAFETY: the heap is this thread's, and neither it nor the cell is used any further.
//! unsafe {
//!     heap_malloc(heap, 100);
//!     heaps::destroy(heap);
//! }
//! ```

use super::arena::ARENA;
use super::block::Block;
use super::heap::Heap;
use super::{release, thread};
use std::sync::atomic::Ordering::Relaxed;

/// A new heap of the calling thread. None if the OS has no memory.
pub fn new() -> Option<&'static Heap> {
    let default = thread::current()?;
    let heap = thread::new_heap()?;
    heap.belong_to(default);
    heap.next.set(default.next.replace(heap));
    Some(heap)
}

/// The default heap of the calling thread. None if the OS has no memory.
pub fn default() -> Option<&'static Heap> {
    thread::current()
}

/// Ends a heap; its cells become those of the thread's default heap.
///
/// # Safety
/// [`new`] returned the heap in this thread, and it is not used any further.
pub unsafe fn delete(heap: &'static Heap) {
    let default = unlist(heap);
    heap.leave_blocks(|block| take_over(default, block));
    thread::free_heap(heap);
}

/// The heap gets a block of one that ends.
fn take_over(heap: &Heap, block: &Block) {
    heap.take_over(block);
    block.collect();
    if block.used.get() == 0 {
        // Others have freed its last cells meanwhile: nobody would look at it again.
        heap.remove(block);
        release::release(block);
    }
}

/// Ends a heap and frees all its cells.
///
/// # Safety
/// As for [`delete`]; and none of its cells is used any further, by any thread.
pub unsafe fn destroy(heap: &'static Heap) {
    unlist(heap);
    heap.leave_blocks(|block| {
        // What other threads have freed goes with the rest.
        block.thread_free.take();
        block.used.set(0);
        release::destroy(block);
    });
    thread::free_heap(heap);
}

/// Takes the heap out of the list of its thread's; returns that thread's default heap.
fn unlist(heap: &'static Heap) -> &'static Heap {
    // SAFETY: the thread that owns a heap runs, and so its default heap is there.
    let default: &Heap = unsafe { &*std::ptr::with_exposed_provenance(heap.owner()) };
    let mut link = &default.next;
    while !std::ptr::eq(link.get(), heap) {
        // SAFETY: the list leads to the heap.
        link = unsafe { &(*link.get()).next };
    }
    link.set(heap.next.get());
    default
}

/// Collects all heaps of the calling thread, as [`Heap::collect`].
pub fn collect(force: bool) {
    if let Some(default) = thread::current() {
        if force {
            // Once, and before: it may end heaps.
            default.call_deferred_free(true);
        }
        default.collect_all();
    }
    if force {
        // Also where the OS has no memory for a heap: this may be what is missing.
        ARENA.reset();
    }
}

/// Calls `visit` with the address and the size of each cell of the heap that is in use, until it returns false. Cells that
/// another thread frees meanwhile may be among them: their first bytes may be a link, and the memory of long ones goes back to the OS at
/// once. The deferred-free hook is not called meanwhile.
///
/// # Safety
/// The heap is the calling thread's. `visit` does not allocate from it, frees nothing in it, does not end it, and neither reads nor writes
/// cells that another thread may free meanwhile.
pub unsafe fn visit(heap: &Heap, mut visit: impl FnMut(usize, usize) -> bool) {
    let _visit = Visit::begin(heap);
    for block in heap.blocks() {
        block.collect();
        if !visit_block(block, &mut visit) {
            return;
        }
    }
}

/// While this is there, what the visitor allocates from other heaps does not have the heap collected.
struct Visit<'heap> {
    heap: &'heap Heap,
    outer: bool,
}

impl Visit<'_> {
    fn begin(heap: &Heap) -> Visit<'_> {
        let outer = !heap.visited.replace(true);
        if outer {
            heap.free_delayed();
        }
        Visit { heap, outer }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.heap.visited.set(!self.outer);
    }
}

/// Most cells in a block: those of 8 bytes in the shortest.
const MAX_CELLS: usize = super::chunk::MIN_BLOCK_PAGES * crate::config::PAGE_BYTES / 8;

fn visit_block(block: &Block, visit: &mut impl FnMut(usize, usize) -> bool) -> bool {
    let mut free = [0u64; MAX_CELLS / 64];
    let (start, bytes) = (block.start.get(), block.cell_bytes.get());
    for head in [block.free.get(), block.local_free.get()] {
        // SAFETY: the block is the calling thread's.
        for cell in unsafe { block.cells(head) } {
            let index = (cell - start) / bytes;
            free[index / 64] |= 1 << (index % 64);
        }
    }
    (0..block.capacity.get() as usize)
        .filter(|index| free[index / 64] >> (index % 64) & 1 == 0)
        .all(|index| visit(start + index * bytes, bytes))
}

/// Whether the cell at `address`, which is in use, is of the heap.
///
/// # Safety
/// It is the address of a cell in use.
pub unsafe fn contains(heap: &Heap, address: usize) -> bool {
    // SAFETY: promised by the caller.
    let block = unsafe { super::chunk::block_of(address) };
    std::ptr::eq(block.heap.load(Relaxed), heap)
}

/// References to heaps may go to other threads, which can ask whether a cell is of them. That no other thread uses a heap is
/// what the caller promises:
///
/// ```compile_fail,E0133
/// use shardsweep_policy::malloc::{heaps, heap_malloc};
/// let heap = heaps::new().unwrap();
/// std::thread::spawn(move || _ = heap_malloc(heap, 100));
/// ```
/// ```compile_fail,E0133
/// use shardsweep_policy::malloc::{heaps, heap_calloc};
/// let heap = heaps::new().unwrap();
/// std::thread::spawn(move || _ = heap_calloc(heap, 1, 100));
/// ```
/// ```compile_fail,E0133
/// use shardsweep_policy::malloc::{heaps, heap_aligned_alloc};
/// let heap = heaps::new().unwrap();
/// std::thread::spawn(move || _ = heap_aligned_alloc(heap, 64, 100));
/// ```
/// ```compile_fail,E0133
/// use shardsweep_policy::malloc::heaps;
/// let heap = heaps::new().unwrap();
/// std::thread::spawn(move || _ = heaps::visit(heap, |_, _| true));
/// ```
/// ```compile_fail,E0133
/// use shardsweep_policy::malloc::heaps;
/// let heap = heaps::new().unwrap();
/// std::thread::spawn(move || _ = heap.collect(true));
/// ```
#[cfg(doctest)]
struct Promised;

#[cfg(test)]
mod tests {
    use super::super::{free, heap_malloc};
    use super::*;
    use std::ptr::with_exposed_provenance_mut;

    #[test]
    fn a_cell_that_is_freed_while_its_heap_is_deleted_is_not_lost() {
        let (default, heap) = (default().unwrap(), new().unwrap());
        let huge_cells = || ARENA.counters.huge_now.load(Relaxed);
        // SAFETY: the heap is this thread's.
        let cell = unsafe { heap_malloc(heap, 9 << 20) }.expose_provenance();
        let before = huge_cells();
        unlist(heap);
        heap.leave_blocks(|block| {
            // SAFETY: the cell is in use.
            let free = move || unsafe { free(with_exposed_provenance_mut(cell)) };
            std::thread::spawn(free).join().unwrap();
            take_over(default, block);
        });
        thread::free_heap(heap);
        assert_eq!(huge_cells(), before - 1);
    }
}
