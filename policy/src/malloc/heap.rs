// SPDX-License-Identifier: MIT OR Apache-2.0
//! A heap: the blocks from which one thread allocates, and the generic path of allocation.

use super::arena::ARENA;
use super::block::{Block, SINGLE};
use super::cell;
use super::chunk::{block_of, BLOCK_ALIGN, MIN_BLOCK_PAGES};
use super::queue::Queue;
use super::secure::{self, Numbers, GUARD_PAGES};
use super::{abandoned, deferred_free, large, options, os, release, sizes, thread};
use crate::size_class::{Bin, MAX_BINS, SMALL_BYTES};
use crate::thread_free::DelayedFree;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

/// Calls of the generic path for which a bin keeps its only block although it is empty.
const RETIRE_CALLS: u8 = 16;
/// Pages of empty blocks that a heap keeps at most, besides those; none where free pages go back to the OS at once. Guard pages cost a call
/// of the OS where a block comes or goes.
const EMPTY_PAGES: usize = if secure::ON { 1024 } else { 256 };
/// After so many milliseconds, half of these are released.
const EMPTY_TIME: u64 = 10;
/// How many cells of a heap a thread may use again that it freed without a generic call of that heap between.
const SHORT_CELLS: u32 = 512;
/// Generic calls between looks at the time.
const CALLS_PER_LOOK: u64 = 64;
/// Generic calls between collections of blocks that no allocation looks at.
const CALLS_PER_COLLECTION: u64 = 10_000;

/// The blocks from which one thread allocates. A thread has one by default, and as many more as it makes.
pub struct Heap {
    /// For each size in words the first block of its bin.
    direct: [Cell<*const Block>; SMALL_BYTES / 8 + 1],
    /// By bin the blocks that may have free cells.
    queues: [Queue; MAX_BINS],
    /// Blocks without a free cell, and those of one cell.
    full: Queue,
    /// Empty blocks that the heap keeps for their bins, the one that was empty longest last.
    empty: Queue,
    empty_pages: Cell<usize>,
    /// Of a default heap when some of those of the thread's heaps are released, in milliseconds.
    empty_until: Cell<u64>,
    /// By bin whether one of them may be of it.
    empty_bins: Cell<u128>,
    /// Cells of those that other threads freed.
    pub(crate) delayed: DelayedFree,
    /// The default heap of the thread.
    thread: Cell<*const Heap>,
    /// Of a default heap the first of the other heaps of the thread; of those the next one.
    pub(crate) next: Cell<*const Heap>,
    /// Of a default heap the number of calls of the generic path of any heap of the thread.
    heartbeat: Cell<u64>,
    /// How many cells may be used again before the next generic call.
    short_cells: Cell<u32>,
    /// By bin whether its only block is empty.
    retired: Cell<u128>,
    /// Of a default heap whether the thread is in the hook.
    in_deferred_free: Cell<bool>,
    /// Whether its cells are being visited. Then its blocks stay in their queues.
    pub(crate) visited: Cell<bool>,
    /// Of a default heap how often its end was put off.
    pub(crate) ends_put_off: Cell<u8>,
    /// For the secrets of blocks.
    pub(crate) numbers: Numbers,
}

// SAFETY: other threads use `delayed` alone, which is atomic; the empty heap is never written to.
unsafe impl Sync for Heap {}

static EMPTY_BLOCK: Block = Block::EMPTY;
/// The heap of a thread that has none yet: whatever is asked of it leads to the generic path.
pub(crate) static EMPTY_HEAP: Heap = Heap::EMPTY;

impl Heap {
    #[allow(clippy::declare_interior_mutable_const)] // It is copied, never used in place.
    pub(crate) const EMPTY: Heap = Heap {
        direct: [const { Cell::new(&raw const EMPTY_BLOCK) }; SMALL_BYTES / 8 + 1],
        queues: [const { Queue::EMPTY }; MAX_BINS],
        full: Queue::EMPTY,
        empty: Queue::EMPTY,
        empty_pages: Cell::new(0),
        empty_until: Cell::new(0),
        empty_bins: Cell::new(0),
        delayed: DelayedFree::new(),
        thread: Cell::new(std::ptr::null()),
        next: Cell::new(std::ptr::null()),
        heartbeat: Cell::new(0),
        short_cells: Cell::new(0),
        retired: Cell::new(0),
        in_deferred_free: Cell::new(false),
        visited: Cell::new(false),
        ends_put_off: Cell::new(0),
        numbers: Numbers::NONE,
    };

    /// Makes the heap one of the thread with default heap `thread`.
    pub(crate) fn belong_to(&self, thread: &Heap) {
        self.thread.set(thread);
    }

    /// The default heap of the thread.
    fn thread(&self) -> &'static Heap {
        // SAFETY: it stays while the thread runs, which has this heap.
        unsafe { &*self.thread.get() }
    }

    pub(crate) fn is_default(&self) -> bool {
        std::ptr::eq(self, self.thread.get())
    }

    /// What [`Block::owner`] says of blocks of this heap.
    pub(crate) fn owner(&self) -> usize {
        self.thread.get().addr()
    }

    /// Address of a cell of at least `size` bytes, or 0 if the OS has no memory.
    #[inline(always)]
    pub(crate) fn allocate(&self, size: usize) -> usize {
        match self.allocate_at_once(size) {
            Some(cell) => cell,
            None => self.allocate_slowly(size),
        }
    }

    /// As [`allocate`](Heap::allocate), if the cell is small and the first block of its bin has a free one.
    #[inline(always)]
    pub(crate) fn allocate_at_once(&self, size: usize) -> Option<usize> {
        if size > SMALL_BYTES {
            return None;
        }
        // SAFETY: the table holds addresses of headers of blocks in this heap, or that of the empty one.
        unsafe { &*self.direct[(size + 7) >> 3].get() }.pop()
    }

    #[cold]
    #[inline(never)]
    fn allocate_slowly(&self, size: usize) -> usize {
        if size <= sizes::MAX_BINNED_BYTES {
            if let Some(cell) = self.allocate_from_first(sizes::bin(size)) {
                return cell;
            }
        }
        match thread::heap_or_start(self) {
            Some(heap) => heap.allocate_generic(size),
            None => 0,
        }
    }

    /// A cell of the first block of the bin, of those to be handed out, or else of those that the owner freed.
    fn allocate_from_first(&self, bin: Bin) -> Option<usize> {
        let first = self.queues[bin.index()].first()?;
        if first.free.get() == 0 {
            let cells = first.capacity.get() - first.used.get();
            let left = self.short_cells.get().checked_sub(cells)?;
            if first.secret.once_in(16) {
                return None;
            }
            self.short_cells.set(left);
            first.reuse_local();
        }
        first.pop()
    }

    /// The generic path: everything that is not done at each allocation, and then the allocation.
    fn allocate_generic(&self, size: usize) -> usize {
        self.beat();
        if size > sizes::MAX_BINNED_BYTES {
            return large::allocate(self, size, 1);
        }
        let bin = sizes::bin(size);
        let block = self.find(bin).or_else(|| self.fresh(bin));
        block.and_then(Block::pop).unwrap_or(0)
    }

    /// The regular work of the generic path.
    pub(crate) fn beat(&self) {
        let thread = self.thread();
        let beat = thread.heartbeat.get() + 1;
        thread.heartbeat.set(beat);
        self.short_cells.set(SHORT_CELLS);
        thread.call_deferred_free(false);
        self.free_delayed();
        self.release_retired();
        if beat % CALLS_PER_LOOK == 0 {
            let now = os::milliseconds();
            if now >= thread.empty_until.get() {
                thread.empty_until.set(now + EMPTY_TIME);
                thread::heaps(thread)
                    .for_each(|heap| heap.release_empty(heap.empty_pages.get() / 2));
            }
            ARENA.reset_if_due();
        }
        if beat % CALLS_PER_COLLECTION == 0 {
            self.collect_all();
        }
    }

    /// Calls the hook, unless it is being called in this thread, whose default heap this is, or cells of the thread are being visited: it
    /// may free them, or end their heap.
    pub(crate) fn call_deferred_free(&'static self, force: bool) {
        let Some((hook, argument)) = deferred_free::hook() else {
            return;
        };
        if thread::heaps(self).any(|heap| heap.visited.get()) {
            return;
        }
        if !self.in_deferred_free.replace(true) {
            hook(force, self.heartbeat.get(), argument);
            self.in_deferred_free.set(false);
        }
    }

    /// Frees the cells of full blocks that other threads freed.
    pub(crate) fn free_delayed(&self) {
        let mut cell = self.delayed.take();
        while cell != DelayedFree::END {
            // SAFETY: cells on the list are of blocks of this heap, and in use until they are freed here.
            let block = unsafe { block_of(cell) };
            // SAFETY: the list was taken whole.
            let next = unsafe { cell::next(cell, &block.secret) };
            secure::check_waited(block, cell, next);
            if block.thread_free.set_delayed(false) {
                block.collect();
                release::free_own(block, cell);
            } else {
                // The thread that pushed it still uses the header.
                // SAFETY: the cell is in our hand.
                self.delayed.push(cell, |next| unsafe {
                    cell::link(cell, next, &block.secret)
                });
            }
            secure::check_delayed(cell, next);
            cell = next;
        }
    }

    /// The first block of the bin that has a free cell, which becomes the first of all. Blocks before it are full.
    fn find(&self, bin: Bin) -> Option<&'static Block> {
        let mut found = None;
        for block in self.queues[bin.index()].iter() {
            // The second one is taken for the cells that it has.
            let may_grow = found.is_none();
            // By chance fresh pages come before freed cells, so that addresses are hard to foretell. What others freed can wait while there
            // are cells: to join two lists is to walk one.
            if block.free.get() == 0 && !(may_grow && block.secret.once_in(16) && block.grow()) {
                block.collect();
            }
            if block.free.get() == 0 && !(may_grow && block.grow()) {
                if block.can_grow() {
                    break;
                }
                self.to_full(block);
                continue;
            }
            // By chance the one after the first.
            let other = found.is_none() && block.secret.once_in(2);
            if let Some(passed) = found.replace(block) {
                self.pass_over(passed);
            }
            if !other {
                break;
            }
        }
        if let Some(block) = found {
            block.retire.set(0);
            self.queues[bin.index()].make_first(block);
        }
        self.first_changed(bin);
        found
    }

    /// Another block becomes the first of the bin: this one goes if it is empty.
    fn pass_over(&self, block: &Block) {
        if block.retire.replace(0) != 0 && block.used.get() == 0 {
            self.remove(block);
            self.put_empty(block);
        }
    }

    /// A block of the bin with free cells that was of no heap.
    fn fresh(&self, bin: Bin) -> Option<&'static Block> {
        if let Some(block) = self.take_empty(bin) {
            // It may have been full when it fell empty.
            block.thread_free.set_delayed(false);
            self.push_front(block);
            return Some(block);
        }
        abandoned::adopt(self, bin)
            .or_else(|| self.claim(bin))
            .or_else(|| self.without_memory(bin))
    }

    /// A block of the bin out of the arena. None if the OS has no memory for it.
    fn claim(&self, bin: Bin) -> Option<&'static Block> {
        let bytes = bin.cell_bytes();
        let pages = (sizes::block_pages(bytes) + GUARD_PAGES)
            .next_multiple_of(BLOCK_ALIGN)
            .max(MIN_BLOCK_PAGES);
        let block = ARENA.claim(bin.index() as u8, bytes, pages, 1)?;
        block.heap.store(self.as_mut_pointer(), Relaxed);
        block.owner.store(self.owner(), Relaxed);
        block.thread_free.set_delayed(false);
        block
            .secret
            .renew(&self.numbers, bytes, block.reserved.get());
        block.grow();
        self.push_front(block);
        Some(block)
    }

    /// A block of the bin with free cells, of what the deferred-free hook or other threads freed, or left: the OS has no memory.
    fn without_memory(&self, bin: Bin) -> Option<&'static Block> {
        self.collect_for_memory();
        self.find(bin)
            .or_else(|| ARENA.patiently(|| self.claim(bin)))
            .or_else(|| abandoned::adopt_wherever(self, bin))
    }

    fn as_mut_pointer(&self) -> *mut Heap {
        std::ptr::from_ref(self).cast_mut()
    }

    /// Makes a block of a bin the first one.
    pub(crate) fn push_front(&self, block: &Block) {
        let bin = Bin::from_index(block.bin.get() as usize);
        self.queues[bin.index()].push_front(block);
        self.first_changed(bin);
    }

    /// Makes a block of a bin the last one.
    fn push_back(&self, block: &Block) {
        let bin = Bin::from_index(block.bin.get() as usize);
        self.queues[bin.index()].push_back(block);
        self.first_changed(bin);
    }

    /// Says in the table of sizes which block of the bin is the first.
    fn first_changed(&self, bin: Bin) {
        let first = self.queues[bin.index()].first();
        let first = first.map_or(&raw const EMPTY_BLOCK, std::ptr::from_ref);
        for words in sizes::words_of(bin) {
            self.direct[words].set(first);
        }
    }

    /// Moves a block that has no free cell to the full list, unless a cell is freed meanwhile.
    fn to_full(&self, block: &Block) {
        block.retire.set(0);
        self.remove(block);
        self.push_full(block);
        block.collect();
        if block.free.get() != 0 {
            self.leave_full(block);
        }
    }

    /// Puts a block on the full list, and has the next free by another thread say so.
    pub(crate) fn push_full(&self, block: &Block) {
        block.set_full_listed(true);
        self.full.push_front(block);
        block.thread_free.set_delayed(true);
    }

    /// Moves a block with a free cell from the full list to its bin.
    pub(crate) fn leave_full(&self, block: &Block) {
        self.full.remove(block);
        block.set_full_listed(false);
        // Where a free is being delayed, that is the state in the end.
        block.thread_free.set_delayed(false);
        self.push_back(block);
    }

    /// Whether there are two blocks or more that may have free cells of the bin.
    pub(crate) fn has_several(&self, bin: u8) -> bool {
        let queue = &self.queues[bin as usize];
        queue.first().is_some() && !queue.has_one()
    }

    /// Takes a block out of its queue.
    pub(crate) fn remove(&self, block: &Block) {
        if block.is_full_listed() {
            self.full.remove(block);
            block.set_full_listed(false);
        } else {
            let bin = Bin::from_index(block.bin.get() as usize);
            self.queues[bin.index()].remove(block);
            self.first_changed(bin);
        }
    }

    /// A block fell empty: the only one of its bin stays first for a while.
    pub(crate) fn retire(&self, block: &Block) {
        let keep = !block.is_full_listed()
            && block.cell_bytes.get() <= sizes::MAX_SMALL_BYTES
            && self.queues[block.bin.get() as usize].has_one();
        if keep {
            block.retire.set(RETIRE_CALLS);
            self.retired.set(self.retired.get() | 1 << block.bin.get());
        } else {
            self.remove(block);
            self.put_empty(block);
        }
    }

    /// Keeps an empty block, which is in no queue, or else releases it.
    fn put_empty(&self, block: &Block) {
        if block.is_single() {
            release::release(block);
            return;
        }
        self.empty.push_front(block);
        self.empty_pages
            .set(self.empty_pages.get() + block.pages.get() as usize);
        self.empty_bins
            .set(self.empty_bins.get() | 1 << block.bin.get());
        let keeps = options::reset_delay() != Some(0);
        self.release_empty(if keeps { EMPTY_PAGES } else { 0 });
    }

    /// An empty block of the bin that was kept.
    fn take_empty(&self, bin: Bin) -> Option<&'static Block> {
        if self.empty_bins.get() >> bin.index() & 1 == 0 {
            return None;
        }
        let mut all = self.empty.iter();
        let found = all.find(|block| block.bin.get() as usize == bin.index());
        match found {
            Some(block) => {
                self.remove_empty(block);
                block.collect();
            }
            None => self
                .empty_bins
                .set(self.empty_bins.get() & !(1 << bin.index())),
        }
        found
    }

    fn remove_empty(&self, block: &Block) {
        self.empty.remove(block);
        self.empty_pages
            .set(self.empty_pages.get() - block.pages.get() as usize);
    }

    /// Releases empty blocks, those first that were empty longest, until `pages` of them are left.
    pub(crate) fn release_empty(&self, pages: usize) {
        while self.empty_pages.get() > pages {
            let Some(block) = self.empty.last() else {
                return;
            };
            self.remove_empty(block);
            release::release(block);
        }
    }

    /// Releases blocks that stayed empty long enough.
    fn release_retired(&self) {
        let mut bins = self.retired.get();
        while bins != 0 {
            let bin = bins.trailing_zeros() as usize;
            bins &= bins - 1;
            let block = self.queues[bin].first();
            if let Some(block) = block.filter(|block| block.retire.get() != 0) {
                let calls = if block.used.get() == 0 {
                    block.retire.get() - 1
                } else {
                    0
                };
                block.retire.set(calls);
                if calls != 0 {
                    continue;
                }
                if block.used.get() == 0 {
                    self.remove(block);
                    self.put_empty(block);
                }
            }
            self.retired.set(self.retired.get() & !(1 << bin));
        }
    }

    /// Collects what was freed in every block, and releases those that are empty. With `force` dirty pages go back to the OS
    /// at once, and the deferred-free hook is to free all it can; it must not end this heap.
    ///
    /// # Safety
    /// The heap is the calling thread's.
    pub unsafe fn collect(&self, force: bool) {
        if force {
            self.thread().call_deferred_free(true);
        }
        self.collect_blocks();
        if force {
            ARENA.reset();
        }
    }

    /// Where the OS has no memory: has the deferred-free hook free all it can, and collects all heaps of the thread.
    pub(crate) fn collect_for_memory(&self) {
        self.thread().call_deferred_free(true);
        self.collect_all();
    }

    /// Collects what was freed in every block of the thread's heaps, and releases those that are empty.
    pub(crate) fn collect_all(&self) {
        thread::heaps(self.thread()).for_each(Heap::collect_blocks);
    }

    /// Collects what was freed in every block, and releases those that are empty; not while the heap is visited.
    pub(crate) fn collect_blocks(&self) {
        if self.visited.get() {
            return;
        }
        self.free_delayed();
        self.release_empty(0);
        for block in self.full.iter().filter(|block| !block.is_single()) {
            block.collect();
            if block.free.get() != 0 {
                self.leave_full(block);
            }
        }
        for block in self.queues.iter().flat_map(Queue::iter) {
            block.collect();
            if block.used.get() == 0 {
                self.remove(block);
                release::release(block);
            }
        }
    }

    /// Takes a block over that has no other owner.
    pub(crate) fn take_over(&self, block: &Block) {
        block.heap.store(self.as_mut_pointer(), Relaxed);
        block.owner.store(self.owner(), Relaxed);
        if block.bin.get() == SINGLE {
            self.push_full(block);
        } else {
            self.push_back(block);
        }
    }

    /// Takes all blocks out, after which no other thread uses the heap.
    pub(crate) fn leave_blocks(&self, mut taker: impl FnMut(&'static Block)) {
        for block in self.blocks() {
            while !block.thread_free.set_delayed(false) {
                std::thread::yield_now();
            }
        }
        self.free_delayed();
        self.release_empty(0);
        for block in self.blocks() {
            self.remove(block);
            block.retire.set(0);
            taker(block);
        }
    }

    /// All blocks. The one that was yielded last may be taken out.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &'static Block> + '_ {
        self.queues
            .iter()
            .flat_map(Queue::iter)
            .chain(self.full.iter())
    }
}
