// SPDX-License-Identifier: MIT OR Apache-2.0
//! The malloc against a shadow: random operations of several heaps and threads, with every byte of every cell known.
#![cfg(all(feature = "malloc", not(loom)))]

use proptest::prelude::*;
use shardsweep_policy::malloc::{self, heaps};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{channel, Sender};
use std::sync::Mutex;

/// Runs a test in a thread of its own, with no other test beside it. What is counted of the whole process, this test did.
/// A thread that ends gives its heap's pages away: so the lock is held until that is done.
fn alone(test: impl FnOnce() + Send + 'static) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Err(panic) = std::thread::spawn(test).join() {
        std::panic::resume_unwind(panic);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Allocate(usize),
    Zeroed(usize),
    Aligned(u32, usize),
    /// The cell whose turn it is gets so many bytes.
    Resize(usize, usize),
    Free(usize),
    /// Another thread frees it, and ends.
    FreeElsewhere(usize),
    /// A thread that runs beside until the end frees some cells, while the next steps are done.
    FreeBeside(usize),
    /// A cell at a multiple of a power of two is allocated with so many bytes and then resized, which keeps it at one.
    ResizeAligned(u32, usize, usize),
    /// Another thread resizes it, which so gets the new cell, and ends.
    ResizeElsewhere(usize, usize),
    /// A thread allocates so many cells, and ends while they are in use.
    Inherit(usize, usize),
    Collect(bool),
    /// One more heap, up to a few.
    NewHeap,
    /// As `Allocate`, in the heap whose turn it is.
    AllocateIn(usize, usize),
    /// The heap whose turn it is ends, and its cells stay.
    Delete(usize),
    /// The heap whose turn it is ends with its cells.
    Destroy(usize),
    /// The heap whose turn it is has the cells that it should have.
    Visit(usize),
}

/// Sizes of all kinds, small ones most.
fn size() -> impl Strategy<Value = usize> {
    let huge = if cfg!(miri) { 70_000 } else { 9 << 20 };
    prop_oneof![
        20 => 0usize..300,
        8 => 300usize..9_000,
        4 => 9_000usize..70_000,
        2 => 70_000usize..1_000_000.min(huge + 1),
        1 => 60_000usize..huge,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => size().prop_map(Step::Allocate),
        3 => size().prop_map(|size| Step::Zeroed(if cfg!(miri) { size % 1000 } else { size })),
        3 => (3u32..23, size()).prop_map(|(log, size)| Step::Aligned(log, size)),
        4 => (any::<usize>(), size()).prop_map(|(index, size)| Step::Resize(index, size)),
        9 => any::<usize>().prop_map(Step::Free),
        2 => any::<usize>().prop_map(Step::FreeElsewhere),
        3 => any::<usize>().prop_map(Step::FreeBeside),
        2 => (3u32..16, size(), size()).prop_map(|(log, first, size)| Step::ResizeAligned(log, first, size)),
        2 => (any::<usize>(), size()).prop_map(|(index, size)| Step::ResizeElsewhere(index, size)),
        2 => Just(Step::NewHeap),
        8 => (any::<usize>(), size()).prop_map(|(heap, size)| Step::AllocateIn(heap, size)),
        1 => any::<usize>().prop_map(Step::Delete),
        1 => any::<usize>().prop_map(Step::Destroy),
        2 => any::<usize>().prop_map(Step::Visit),
        1 => (0usize..2_000, 1usize..40).prop_map(|(size, count)| Step::Inherit(size, count)),
        1 => any::<bool>().prop_map(Step::Collect),
    ]
}

/// The cells in use: address to size asked for, usable bytes, and what they are filled with.
#[derive(Default)]
struct Shadow {
    cells: BTreeMap<usize, (usize, usize, u8)>,
    next_fill: u8,
}

fn pointer(cell: usize) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(cell)
}

/// The address of a cell from a heap of the calling thread.
fn heap_malloc(heap: &malloc::Heap, size: usize) -> usize {
    // SAFETY: the tests use heaps in the threads that made them.
    unsafe { malloc::heap_malloc(heap, size) }.expose_provenance()
}

/// An interpreter is slow.
const EDGE: usize = if cfg!(miri) { 20 } else { 600 };

/// The bytes of a cell that are looked at: all of a small one, both ends of others.
fn looked_at(usable: usize) -> impl Iterator<Item = usize> {
    let edge = usable.min(EDGE);
    (0..edge).chain(usable - edge..usable)
}

impl Shadow {
    /// A cell came from the allocator: it overlaps no other, and all of it can be written.
    fn add(&mut self, cell: *mut u8, size: usize, align: usize) {
        assert!(
            !cell.is_null() && cell.addr() % align == 0,
            "{size} at {align}"
        );
        let start = cell.expose_provenance();
        // SAFETY: it was just allocated.
        let usable = unsafe { malloc::usable_size(cell) };
        assert!(usable >= size);
        if let Some((&below, &(_, bytes, _))) = self.cells.range(..=start).next_back() {
            assert!(
                below + bytes <= start,
                "{start:#x} lies in the cell at {below:#x}"
            );
        }
        if let Some((&above, _)) = self.cells.range(start..).next() {
            assert!(
                start + usable <= above,
                "{start:#x} reaches into the cell at {above:#x}"
            );
        }
        self.next_fill = self.next_fill.wrapping_add(1);
        let fill = self.next_fill;
        // SAFETY: the bytes are usable.
        looked_at(usable).for_each(|at| unsafe { cell.add(at).write(fill) });
        self.cells.insert(start, (size, usable, fill));
    }

    /// Forgets the cell whose turn it is, after a look whether it still holds what it was filled with.
    fn take(&mut self, turn: usize) -> Option<(usize, usize, u8)> {
        let index = turn.checked_rem(self.cells.len())?;
        let (&start, &(_, usable, fill)) = self.cells.iter().nth(index)?;
        for at in looked_at(usable) {
            // SAFETY: it is in use.
            let byte = unsafe { pointer(start).add(at).read() };
            assert_eq!(
                byte, fill,
                "byte {at} of the cell at {start:#x} with {usable}"
            );
        }
        self.cells.remove(&start);
        Some((start, usable, fill))
    }

    /// As `take`, of so many cells at most.
    fn take_several(&mut self, turn: usize, most: usize) -> Vec<usize> {
        let several = (0..most.min(self.cells.len()))
            .filter_map(|next| self.take(turn.wrapping_add(next)))
            .map(|taken| taken.0);
        several.collect()
    }

    /// Has the cell whose turn it is resized, after which what fits still holds what it was filled with.
    fn resize(&mut self, turn: usize, align: usize, size: usize, resize: impl Fn(usize) -> usize) {
        let Some((cell, usable, fill)) = self.take(turn) else {
            return;
        };
        let moved = pointer(resize(cell));
        let mut kept = looked_at(usable).filter(|&at| at < size);
        // SAFETY: these bytes were kept.
        assert!(kept.all(|at| unsafe { moved.add(at).read() } == fill));
        self.add(moved, size, align);
    }

    /// As `resize`, of a cell that is allocated at a multiple of `align` for it.
    fn resize_aligned(&mut self, align: usize, first: usize, size: usize) {
        let cell = malloc::aligned_alloc(align, first);
        self.add(cell, first, align);
        let turn = self.cells.range(..cell.addr()).count();
        self.resize(turn, align, size, |cell| {
            // SAFETY: it is in use.
            unsafe { malloc::aligned_realloc(pointer(cell), align, size) }.expose_provenance()
        });
    }

    /// As `resize`, in a thread of its own.
    fn resize_elsewhere(&mut self, turn: usize, size: usize) {
        self.resize(turn, 8, size, |cell| {
            // SAFETY: it is in use.
            let resize = move || unsafe { malloc::realloc(pointer(cell), size) };
            std::thread::spawn(move || resize().expose_provenance())
                .join()
                .unwrap()
        });
    }

    /// Adds a cell that was all zeros.
    fn add_zeroed(&mut self, size: usize) {
        let cell = malloc::calloc(size, 1);
        // SAFETY: it was just allocated with so many bytes.
        assert!((0..size).all(|at| unsafe { cell.add(at).read() } == 0));
        self.add(cell, size, 8);
    }

    /// Adds so many cells of a thread that has ended.
    fn inherit(&mut self, size: usize, count: usize) {
        let allocate = move || {
            (0..count)
                .map(|_| malloc::malloc(size).expose_provenance())
                .collect::<Vec<_>>()
        };
        let cells = std::thread::spawn(allocate).join().unwrap();
        cells
            .into_iter()
            .for_each(|cell| self.add(pointer(cell), size, 8));
    }

    fn cells_of(&self, heap: &malloc::Heap) -> Vec<usize> {
        let cells = self.cells.keys().copied();
        // SAFETY: they are in use.
        cells
            .filter(|&cell| unsafe { heaps::contains(heap, cell) })
            .collect()
    }

    /// Forgets the cells of the heap, after a look.
    fn take_all_of(&mut self, heap: &malloc::Heap) {
        for cell in self.cells_of(heap) {
            let turn = self.cells.range(..cell).count();
            self.take(turn);
        }
    }

    /// The heap has each cell in use that is said to be its. It may have more, which the thread beside is still to free.
    fn compare(&self, heap: &malloc::Heap) {
        let mut seen = BTreeSet::new();
        let visit = |cell, _| seen.insert(cell);
        // SAFETY: the heap is this thread's, and the visitor leaves it alone.
        unsafe { heaps::visit(heap, visit) };
        for cell in self.cells_of(heap) {
            assert!(seen.remove(&cell), "{cell:#x} was not visited");
        }
    }
}

/// A thread that frees what it is given, until nothing more comes.
struct Beside {
    cells: Sender<Vec<usize>>,
    thread: std::thread::JoinHandle<()>,
}

impl Beside {
    fn begin() -> Beside {
        let (cells, given) = channel::<Vec<usize>>();
        let thread = std::thread::spawn(move || {
            // A thread that has allocated owns what it frees in abandoned blocks.
            free_all(vec![malloc::malloc(1).expose_provenance()]);
            given.into_iter().for_each(free_all);
        });
        Beside { cells, thread }
    }

    fn free(&self, cells: Vec<usize>) {
        self.cells.send(cells).unwrap();
    }

    fn end(self) {
        drop(self.cells);
        self.thread.join().unwrap();
    }
}

fn free_all(cells: Vec<usize>) {
    // SAFETY: they are in use, and the caller's.
    cells
        .iter()
        .for_each(|&cell| unsafe { malloc::free(pointer(cell)) });
}

const MOST_HEAPS: usize = 4;

/// The cells of the tests, the heaps of their thread, and the one beside.
struct Run {
    shadow: Shadow,
    heaps: Vec<&'static malloc::Heap>,
    beside: Beside,
}

impl Run {
    fn step(&mut self, step: Step) {
        let shadow = &mut self.shadow;
        match step {
            Step::Allocate(size) => {
                shadow.add(malloc::malloc(size), size, if size > 8 { 16 } else { 8 })
            }
            Step::Zeroed(size) => shadow.add_zeroed(size),
            Step::Aligned(log, size) => {
                shadow.add(malloc::aligned_alloc(1 << log, size), size, 1 << log)
            }
            Step::Resize(turn, size) => shadow.resize(turn, 8, size, |cell| {
                // SAFETY: it is in use.
                unsafe { malloc::realloc(pointer(cell), size) }.expose_provenance()
            }),
            Step::ResizeAligned(log, first, size) => shadow.resize_aligned(1 << log, first, size),
            Step::ResizeElsewhere(turn, size) => shadow.resize_elsewhere(turn, size),
            Step::Free(turn) => free_all(shadow.take_several(turn, 1)),
            Step::FreeElsewhere(turn) => {
                let beside = Beside::begin();
                beside.free(shadow.take_several(turn, 7));
                beside.end();
            }
            Step::FreeBeside(turn) => self.beside.free(shadow.take_several(turn, 7)),
            Step::Inherit(size, count) => shadow.inherit(size, count),
            // SAFETY: the heap is this thread's.
            Step::Collect(force) => unsafe { heaps::default().unwrap().collect(force) },
            Step::NewHeap => {
                if self.heaps.len() < MOST_HEAPS {
                    self.heaps.push(heaps::new().unwrap());
                }
            }
            Step::AllocateIn(turn, size) => {
                if let Some(heap) = self.heap(turn) {
                    let cell = heap_malloc(self.heaps[heap], size);
                    self.shadow.add(pointer(cell), size, 8);
                }
            }
            Step::Delete(turn) => {
                if let Some(heap) = self.heap(turn) {
                    // SAFETY: the heap is this thread's, and not used any further.
                    unsafe { heaps::delete(self.heaps.swap_remove(heap)) };
                }
            }
            Step::Destroy(turn) => self.destroy(turn),
            Step::Visit(turn) => {
                if let Some(heap) = self.heap(turn) {
                    self.shadow.compare(self.heaps[heap]);
                }
            }
        }
    }

    /// The place of the heap whose turn it is, if there is any.
    fn heap(&self, turn: usize) -> Option<usize> {
        turn.checked_rem(self.heaps.len())
    }

    /// Destroys a heap, with all its cells.
    fn destroy(&mut self, turn: usize) {
        if let Some(heap) = self.heap(turn) {
            let heap = self.heaps.swap_remove(heap);
            // The thread beside may still be freeing cells of it.
            std::mem::replace(&mut self.beside, Beside::begin()).end();
            self.shadow.take_all_of(heap);
            // SAFETY: the heap is this thread's, and neither it nor a cell of it is used any further.
            unsafe { heaps::destroy(heap) };
        }
    }

    fn end(mut self) {
        self.beside.end();
        free_all(self.shadow.take_several(0, usize::MAX));
        // SAFETY: the heaps are this thread's, and not used any further.
        self.heaps
            .into_iter()
            .for_each(|heap| unsafe { heaps::delete(heap) });
    }
}

fn run(steps: Vec<Step>) {
    let mut run = Run {
        shadow: Shadow::default(),
        heaps: Vec::new(),
        beside: Beside::begin(),
    };
    steps.into_iter().for_each(|step| run.step(step));
    run.end();
}

#[test]
fn no_cell_overlaps_another() {
    let config = ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 60 },
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let lengths = 1..if cfg!(miri) { 40 } else { 400 };
    alone(
        move || proptest!(config, |(steps in proptest::collection::vec(step(), lengths))| run(steps)),
    );
}

#[test]
fn the_generic_path_is_taken_after_a_bounded_number_of_allocations() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    static LAST: AtomicU64 = AtomicU64::new(0);
    extern "C" fn hook(_: bool, beat: u64, argument: *mut std::ffi::c_void) {
        if argument.addr() == 7 {
            // The hook may allocate and free.
            // SAFETY: it is in use.
            unsafe { malloc::free(malloc::malloc(100)) };
            assert!(beat > LAST.swap(beat, Relaxed), "the heartbeat goes on");
            CALLS.fetch_add(1, Relaxed);
        }
    }
    alone(|| {
        malloc::set_deferred_free(Some(hook), std::ptr::without_provenance_mut(7));
        let (rounds, cell) = (if cfg!(miri) { 3_000 } else { 100_000 }, 48);
        for _ in 0..rounds {
            // One cell, handed out and freed: its block never fills.
            // SAFETY: it is in use.
            unsafe { malloc::free(malloc::malloc(cell)) };
        }
        malloc::set_deferred_free(None, std::ptr::null_mut());
        let most = (16 * 4096 / cell) as u64;
        assert!(
            CALLS.load(Relaxed) >= rounds / most,
            "{} calls",
            CALLS.load(Relaxed)
        );
    });
}

#[test]
fn what_another_thread_frees_is_used_again() {
    alone(|| {
        let (to_free, cells) = channel::<Vec<usize>>();
        let (done, wait) = channel();
        let other = std::thread::spawn(move || {
            for cells in cells {
                // SAFETY: they are in use.
                cells
                    .iter()
                    .for_each(|&cell| unsafe { malloc::free(pointer(cell)) });
                done.send(()).unwrap();
            }
        });
        // An interpreter that follows each pointer slows down with each cell.
        let (rounds, count, bytes) = if cfg!(miri) {
            (2, 100, 4000)
        } else {
            (50, 2000, 500)
        };
        let claimed = || malloc::statistics::statistics().blocks_claimed;
        let before = claimed();
        let mut first = 0;
        for round in 0..rounds {
            let cells: Vec<usize> = (0..count)
                .map(|_| malloc::malloc(bytes).expose_provenance())
                .collect();
            to_free.send(cells).unwrap();
            wait.recv().unwrap();
            if round == 0 {
                first = claimed();
            }
        }
        // Each round fits into the blocks of the first; the collections of other bins may cost a few.
        let (in_first, later) = (first - before, claimed() - first);
        assert!(
            later < in_first * (rounds - 1) / 2,
            "{in_first} blocks, then {later}"
        );
        drop(to_free);
        other.join().unwrap();
    });
}

#[test]
fn a_free_in_an_abandoned_block_adopts_it() {
    alone(|| {
        // SAFETY: it is in use.
        unsafe { malloc::free(malloc::malloc(8)) };
        let allocate =
            || [malloc::malloc(3000), malloc::malloc(3000)].map(|cell| cell.expose_provenance());
        let cells = std::thread::spawn(allocate).join().unwrap();
        let before = malloc::statistics::statistics();
        assert!(before.blocks_abandoned > 0);
        // SAFETY: it is in use.
        unsafe { malloc::free(pointer(cells[0])) };
        assert_eq!(
            malloc::statistics::statistics().blocks_adopted,
            before.blocks_adopted + 1
        );
        // SAFETY: both are in use.
        assert!(unsafe { heaps::contains(heaps::default().unwrap(), cells[1]) });
        // SAFETY: it is in use.
        unsafe { malloc::free(pointer(cells[1])) };
    });
}

#[test]
fn heaps_are_visited_deleted_and_destroyed() {
    alone(|| {
        let (deleted, destroyed) = (heaps::new().unwrap(), heaps::new().unwrap());
        let sizes = [8, 24, 100, 100, 5000, 100_000];
        let mut cells: Vec<usize> = sizes
            .iter()
            .map(|&size| heap_malloc(deleted, size))
            .collect();
        for size in sizes {
            heap_malloc(destroyed, size);
        }
        let visited = |heap| {
            let mut seen = Vec::new();
            let visit = |cell, bytes| {
                seen.push((cell, bytes));
                true
            };
            // SAFETY: the heap is this thread's, and the visitor leaves it alone.
            unsafe { heaps::visit(heap, visit) };
            seen.sort_unstable();
            seen
        };
        cells.sort_unstable();
        assert_eq!(
            visited(deleted)
                .iter()
                .map(|cell| cell.0)
                .collect::<Vec<_>>(),
            cells
        );
        assert_eq!(visited(destroyed).len(), sizes.len());
        let gone = cells.pop().unwrap();
        // SAFETY: it is in use.
        unsafe { malloc::free(pointer(gone)) };
        assert_eq!(visited(deleted).len(), cells.len());
        // SAFETY: both heaps are this thread's, and not used any further.
        unsafe {
            heaps::delete(deleted);
            heaps::destroy(destroyed);
        }
        let default = heaps::default().unwrap();
        for cell in cells {
            // SAFETY: deleting a heap leaves its cells in use.
            unsafe {
                assert!(heaps::contains(default, cell));
                malloc::free(pointer(cell));
            }
        }
    });
}

#[test]
fn a_visitor_may_allocate_from_other_heaps() {
    alone(|| {
        let heap = heaps::new().unwrap();
        let cells: Vec<usize> = (0..1000).map(|_| heap_malloc(heap, 700)).collect();
        let (mut visits, mut others) = (0, Vec::new());
        let visit = |cell, _| {
            // SAFETY: the cell is in use, or was when the visit began.
            assert!(unsafe { heaps::contains(heap, cell) }, "of another heap");
            visits += 1;
            if visits == 1 {
                let freed = cells
                    .clone()
                    .into_iter()
                    .filter(move |&other| other != cell);
                // SAFETY: they are in use.
                let free = || freed.for_each(|cell| unsafe { malloc::free(pointer(cell)) });
                std::thread::spawn(free).join().unwrap();
                let rounds = if cfg!(miri) { 10 } else { 20_000 };
                // SAFETY: it is in use.
                (0..rounds).for_each(|_| unsafe { malloc::free(malloc::malloc(70_000)) });
                // Blocks as long as the ones that are empty now.
                others = (0..2000).map(|_| malloc::malloc(3000)).collect();
            }
            true
        };
        // SAFETY: the heap is this thread's, and the visitor leaves it alone.
        unsafe { heaps::visit(heap, visit) };
        assert!(visits < cells.len(), "cells that were free before");
        // SAFETY: they are in use.
        others
            .iter()
            .for_each(|&cell| unsafe { malloc::free(cell) });
        // SAFETY: the heap is this thread's, and not used any further.
        unsafe { heaps::destroy(heap) };
    });
}

#[test]
fn a_new_heap_gets_no_cells_of_ended_threads() {
    alone(|| {
        let allocate = || malloc::malloc(700).expose_provenance();
        let others = std::thread::spawn(allocate).join().unwrap();
        let heap = heaps::new().unwrap();
        heap_malloc(heap, 700);
        // SAFETY: the cell is in use.
        assert!(!unsafe { heaps::contains(heap, others) });
        // SAFETY: the heap is this thread's, and the cell in use; neither is used any further.
        unsafe {
            heaps::destroy(heap);
            malloc::free(pointer(others));
        }
    });
}

#[test]
fn a_destroyed_heap_takes_along_what_other_threads_freed() {
    alone(|| {
        let heap = heaps::new().unwrap();
        let cells = [(); 2].map(|()| heap_malloc(heap, 100));
        // SAFETY: it is in use.
        let free = move || unsafe { malloc::free(pointer(cells[0])) };
        std::thread::spawn(free).join().unwrap();
        // SAFETY: the heap is this thread's, and not used any further.
        unsafe { heaps::destroy(heap) };
        let mut cells: Vec<usize> = (0..5000)
            .map(|_| malloc::malloc(100).expose_provenance())
            .collect();
        cells.sort_unstable();
        assert!(cells.is_sorted_by(|a, b| a < b), "a cell has two users");
        for cell in cells {
            // SAFETY: it is in use.
            unsafe { malloc::free(pointer(cell)) };
        }
    });
}

#[test]
fn the_hook_is_not_called_in_itself() {
    static NESTED: AtomicU64 = AtomicU64::new(0);
    static DEPTH: AtomicU64 = AtomicU64::new(0);
    extern "C" fn hook(_: bool, _: u64, _: *mut std::ffi::c_void) {
        NESTED.fetch_add(DEPTH.fetch_add(1, Relaxed), Relaxed);
        for _ in 0..500 {
            // SAFETY: it is in use.
            unsafe { malloc::free(malloc::malloc(100)) };
        }
        DEPTH.fetch_sub(1, Relaxed);
    }
    alone(|| {
        let heap = heaps::new().unwrap();
        malloc::set_deferred_free(Some(hook), std::ptr::null_mut());
        heap_malloc(heap, 100);
        malloc::set_deferred_free(None, std::ptr::null_mut());
        assert_eq!(NESTED.load(Relaxed), 0);
        // SAFETY: the heap is this thread's, and not used any further.
        unsafe { heaps::destroy(heap) };
    });
}

#[test]
fn the_hook_is_not_called_while_cells_are_visited() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    extern "C" fn hook(_: bool, _: u64, _: *mut std::ffi::c_void) {
        CALLS.fetch_add(1, Relaxed);
    }
    alone(|| {
        let heap = heaps::new().unwrap();
        heap_malloc(heap, 100);
        let allocate = || {
            // The generic path is taken for a cell that is a block.
            // SAFETY: it is in use.
            unsafe { malloc::free(malloc::malloc(200_000)) };
            heaps::collect(true);
        };
        malloc::set_deferred_free(Some(hook), std::ptr::null_mut());
        let visitor = |_, _| {
            allocate();
            true
        };
        // SAFETY: the heap is this thread's; the visitor uses another one alone.
        unsafe { heaps::visit(heap, visitor) };
        assert_eq!(CALLS.load(Relaxed), 0);
        allocate();
        malloc::set_deferred_free(None, std::ptr::null_mut());
        assert_eq!(CALLS.load(Relaxed), 2);
        // SAFETY: the heap is this thread's, and not used any further.
        unsafe { heaps::destroy(heap) };
    });
}

#[test]
fn no_cell_has_an_alignment_that_is_no_power_of_two() {
    for align in [0, 24, 0x60_1000] {
        assert!(malloc::aligned_alloc(align, 1).is_null(), "{align}");
    }
}

#[test]
fn the_hook_may_end_heaps_when_all_are_collected() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    extern "C" fn hook(force: bool, _: u64, heap: *mut std::ffi::c_void) {
        if force && CALLS.fetch_add(1, Relaxed) == 0 {
            // SAFETY: it is the argument of the test, which uses it no further.
            unsafe { heaps::destroy(&*heap.cast::<malloc::Heap>().cast_const()) };
        }
    }
    alone(|| {
        let (first, second) = (heaps::new().unwrap(), heaps::new().unwrap());
        for heap in [first, second] {
            heap_malloc(heap, 100);
        }
        let argument = std::ptr::from_ref(first).cast_mut().cast();
        malloc::set_deferred_free(Some(hook), argument);
        heaps::collect(true);
        malloc::set_deferred_free(None, std::ptr::null_mut());
        assert_eq!(CALLS.load(Relaxed), 1, "calls of the hook");
        // SAFETY: the heap is this thread's, and not used any further.
        unsafe { heaps::destroy(second) };
    });
}

#[test]
#[cfg_attr(miri, ignore = "its memory does not run out")]
fn the_hook_frees_all_it_can_where_the_os_has_no_memory() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    extern "C" fn hook(force: bool, _: u64, _: *mut std::ffi::c_void) {
        CALLS.fetch_add(force.into(), Relaxed);
    }
    alone(|| {
        malloc::set_deferred_free(Some(hook), std::ptr::null_mut());
        // There are no more addresses than twice that, and the kernel has some of them.
        assert!(malloc::aligned_alloc(1 << 46, 1 << 46).is_null());
        malloc::set_deferred_free(None, std::ptr::null_mut());
        assert_eq!(CALLS.load(Relaxed), 1);
    });
}

#[test]
fn free_pages_go_back_to_the_os() {
    alone(|| {
        let before = malloc::statistics::statistics().pages_reset;
        let cell = malloc::malloc(1 << 20);
        // SAFETY: it is in use, and has so many bytes.
        unsafe {
            cell.write_bytes(1, 1 << 20);
            malloc::free(cell);
        }
        // SAFETY: the heap is this thread's.
        unsafe { heaps::default().unwrap().collect(true) };
        let after = malloc::statistics::statistics();
        assert!(after.pages_reset >= before + 256);
        assert_eq!(after.dirty_pages, 0);
    });
}

#[test]
fn free_pages_go_back_at_once_without_a_delay() {
    use malloc::options::{self, Option::ResetDelay};
    const BYTES: usize = 6912;
    alone(|| {
        // What is free already goes now.
        options::set(ResetDelay, 0);
        let before = malloc::statistics::pages_reset();
        let cells: Vec<*mut u8> = (0..20).map(|_| malloc::malloc(BYTES)).collect();
        // A bin's last block would stay for some calls if it were empty.
        let last = malloc::malloc(BYTES);
        for cell in cells {
            // SAFETY: it is in use, and has so many bytes.
            unsafe {
                cell.write_bytes(1, BYTES);
                malloc::free(cell);
            }
        }
        let after = malloc::statistics::statistics();
        assert_eq!((bin(BYTES).blocks, after.dirty_pages), (1, 0));
        // A block of the shortest length has eight or nine of the cells, so two blocks were released.
        assert!(after.pages_reset >= before + 2 * (8 * BYTES).div_ceil(4096));
        // SAFETY: it is in use.
        unsafe { malloc::free(last) };
        options::set(ResetDelay, 100);
    });
}

/// What the statistics say of the bin of cells with so many bytes.
fn bin(cell_bytes: usize) -> malloc::statistics::BinStatistics {
    let mut bins = malloc::statistics::statistics().bins.into_iter();
    bins.find(|bin| bin.cell_bytes == cell_bytes).unwrap()
}

#[test]
fn statistics_tell_of_what_was_freed_too() {
    const BYTES: usize = 6912;
    alone(|| {
        let before = bin(BYTES);
        let cells: Vec<*mut u8> = (0..100).map(|_| malloc::malloc(BYTES)).collect();
        let full = bin(BYTES);
        assert_eq!(full.used_cells, before.used_cells + 100);
        assert_eq!(full.used_bytes, full.used_cells * BYTES);
        // A block of the shortest length has nine of them.
        assert!(full.blocks >= 100 / 9 && full.blocks_peak >= full.blocks);
        // SAFETY: they are in use.
        cells
            .into_iter()
            .for_each(|cell| unsafe { malloc::free(cell) });
        heaps::collect(true);
        let after = bin(BYTES);
        assert_eq!(after.used_cells, before.used_cells);
        assert!(after.blocks < full.blocks);
        assert_eq!(
            (after.blocks_peak, after.blocks_claimed),
            (full.blocks_peak, full.blocks_claimed)
        );
    });
}

#[test]
fn more_than_there_are_addresses_costs_nothing_that_is_kept() {
    const BYTES: usize = 6912;
    alone(|| {
        let cells = [[BYTES; 20].as_slice(), &[1 << 20]].concat();
        let cells: Vec<*mut u8> = cells.into_iter().map(malloc::malloc).collect();
        // SAFETY: they are in use.
        cells
            .into_iter()
            .for_each(|cell| unsafe { malloc::free(cell) });
        let kept = || {
            (
                bin(BYTES).blocks,
                malloc::statistics::statistics().dirty_pages,
            )
        };
        let before = kept();
        assert!(before.0 >= 2 && before.1 >= 256, "{before:?}");
        for (align, size) in [(8, usize::MAX / 4), (8, 1 << 47), (1 << 62, 8)] {
            assert!(malloc::aligned_alloc(align, size).is_null());
        }
        assert_eq!(kept(), before);
    });
}

/// No field is read that another thread writes without an atomic: ThreadSanitizer and Miri say so.
#[test]
fn statistics_are_taken_while_threads_run() {
    alone(|| {
        let (started, wait) = channel();
        let other = std::thread::spawn(move || {
            for round in 0..if cfg!(miri) { 20 } else { 2_000 } {
                let cells: Vec<*mut u8> = (1..50).map(|i| malloc::malloc(i * 100)).collect();
                // SAFETY: they are in use.
                cells
                    .into_iter()
                    .for_each(|cell| unsafe { malloc::free(cell) });
                if round == 0 {
                    started.send(()).unwrap();
                }
            }
        });
        wait.recv().unwrap();
        for _ in 0..if cfg!(miri) { 2 } else { 100 } {
            assert!(bin(4096).blocks_claimed > 0);
        }
        other.join().unwrap();
    });
}

/// The cells of blocks of a new heap in the order in which they are handed out.
#[cfg(feature = "secure")]
fn first_cells(heap: &malloc::Heap, count: usize) -> Vec<usize> {
    (0..count).map(|_| heap_malloc(heap, 700)).collect()
}

#[cfg(feature = "secure")]
#[test]
fn cells_are_handed_out_in_no_order() {
    alone(|| {
        let heap = heaps::new().unwrap();
        // A block of 700 bytes a cell links five at once: by chance all of 50 cells are in order once in 10^20.
        let cells = first_cells(heap, 50);
        assert!(!cells.is_sorted());
        // SAFETY: the heap is this thread's, and not used any further.
        unsafe { heaps::destroy(heap) };
    });
}

#[cfg(feature = "secure")]
#[test]
fn blocks_are_chosen_in_no_order() {
    alone(|| {
        let heap = heaps::new().unwrap();
        let mut cells = first_cells(heap, 8000);
        cells.sort_unstable();
        // A block has less than a hundred cells, so these are of different ones.
        let freed: Vec<usize> = cells.into_iter().step_by(100).collect();
        for &cell in &freed {
            // SAFETY: it is in use.
            unsafe { malloc::free(pointer(cell)) };
        }
        // Cells of the one block that was not full come between these.
        let again: Vec<usize> = first_cells(heap, freed.len() + 200)
            .into_iter()
            .filter(|cell| freed.contains(cell))
            .collect();
        assert_eq!(again.len(), freed.len());
        // Without chance they come as they were freed, but for the one that may be of that block.
        let descents = again.windows(2).filter(|two| two[0] > two[1]).count();
        assert!(descents > 3, "{descents} descents");
        // SAFETY: the heap is this thread's, and not used any further.
        unsafe { heaps::destroy(heap) };
    });
}

#[cfg(feature = "secure")]
#[test]
fn no_block_grows_for_a_choice_of_two() {
    alone(|| {
        let first = malloc::malloc(3300);
        // SAFETY: it is in use.
        let bytes = unsafe { malloc::usable_size(first) };
        // A block of the shortest length, without its guard page, is full.
        let mut cells: Vec<*mut u8> = (1..15 * 4096 / bytes)
            .map(|_| malloc::malloc(bytes))
            .collect();
        // One that is not comes behind it.
        let heap = heaps::new().unwrap();
        let last = pointer(heap_malloc(heap, bytes));
        // SAFETY: the heap is this thread's, and not used any further.
        unsafe { heaps::delete(heap) };
        let touched = bin(bytes).touched_bytes;
        for _ in 0..200 {
            for cell in &mut cells {
                // SAFETY: it is in use.
                unsafe { malloc::free(*cell) };
            }
            cells.fill_with(|| malloc::malloc(bytes));
        }
        assert_eq!(bin(bytes).touched_bytes, touched);
        // SAFETY: they are in use.
        cells
            .into_iter()
            .chain([first, last])
            .for_each(|cell| unsafe { malloc::free(cell) });
    });
}
