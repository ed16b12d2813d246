// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every interleaving of threads that free cells in a block of another, while it is collected, on the full list, or
//! abandoned; and of threads that hand spare heaps to each other. To be run by `RUSTFLAGS="--cfg loom" cargo test --features malloc --test loom_malloc --release`.
//!
//! `thread_free` and `spare` are the real code. What heaps and abandoned blocks do with them is modelled by [`Block`]. Loom cannot run
//! that: headers and chunks are mapped memory, which is zero before its first use and found by arithmetic on addresses, and the arena is a
//! static. Loom's atomics are larger, and have to be made by a call. ThreadSanitizer looks at the rest: `scripts/testing/tsan.sh`.
#![cfg(all(loom, feature = "malloc"))]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use shardsweep_policy::spare::Spare;
use shardsweep_policy::thread_free::{DelayedFree, Freed, Pushed, ThreadFree};

/// A block of cells 8, 16, 24, ..., whose links and whose owner's field are watched: loom fails on any race.
struct Block {
    thread_free: ThreadFree,
    links: [UnsafeCell<usize>; 3],
    /// What the owner alone may touch: the cells that it has back.
    returned: UnsafeCell<Vec<usize>>,
    /// The heap that the block is in, which is gone once its owner has ended.
    delayed: DelayedFree,
    heap: UnsafeCell<bool>,
    /// What the header holds, which goes when the block is released.
    header: UnsafeCell<()>,
}

impl Block {
    fn new() -> Arc<Block> {
        Arc::new(Block {
            thread_free: ThreadFree::new(),
            links: std::array::from_fn(|_| UnsafeCell::new(0)),
            returned: UnsafeCell::new(Vec::new()),
            delayed: DelayedFree::new(),
            heap: UnsafeCell::new(true),
            header: UnsafeCell::new(()),
        })
    }

    /// One that is on the full list: the next free is delayed.
    fn full() -> Arc<Block> {
        let block = Block::new();
        assert!(block.thread_free.set_delayed(true));
        block
    }

    fn link(&self, cell: usize, next: usize) {
        // SAFETY: the cell is the caller's; loom checks that.
        self.links[cell / 8 - 1].with_mut(|link| unsafe { *link = next });
    }

    /// The owner gets the cells back that other threads freed: as many as are said to be.
    fn put_back_freed(&self, freed: Freed) {
        assert_eq!(self.put_back(freed.first), freed.count);
    }

    /// The owner gets the cells of a list back, of the block or of delayed frees. How many there were.
    fn put_back(&self, mut list: usize) -> u32 {
        let mut count = 0;
        while list != 0 && list != DelayedFree::END {
            count += 1;
            // SAFETY: the block is the caller's; loom checks that.
            self.returned.with_mut(|all| unsafe { (*all).push(list) });
            // SAFETY: the list was taken whole; loom checks that.
            list = self.links[list / 8 - 1].with(|link| unsafe { *link });
        }
        count
    }

    /// A thread that does not own the block frees a cell. True if it owns the block now.
    fn free(&self, cell: usize) -> bool {
        match self.thread_free.push(cell, |next| self.link(cell, next)) {
            Pushed::Listed => false,
            Pushed::Delay => {
                // SAFETY: the heap stays while the free is delayed; loom checks that.
                self.heap.with(|there| assert!(unsafe { *there }));
                self.delayed.push(cell, |next| self.link(cell, next));
                self.header.with(|_| ());
                self.thread_free.delayed();
                false
            }
            Pushed::Claimed => {
                self.link(cell, 0);
                self.put_back(cell);
                true
            }
        }
    }

    /// The owner frees what others could not, as a heap does on its generic path.
    fn free_delayed(&self) {
        let mut cell = self.delayed.take();
        while cell != DelayedFree::END {
            // SAFETY: the list was taken whole; loom checks that.
            let next = self.links[cell / 8 - 1].with(|link| unsafe { *link });
            if self.thread_free.set_delayed(false) {
                self.link(cell, 0);
                self.put_back(cell);
            } else {
                self.delayed.push(cell, |next| self.link(cell, next));
            }
            cell = next;
        }
    }

    /// The owner ends: no free is delayed from here on, the heap goes, and so does the block.
    fn end(&self) {
        while !self.thread_free.set_delayed(false) {
            loom::thread::yield_now();
        }
        self.put_back(self.delayed.take());
        // SAFETY: nobody uses the heap; loom checks that.
        self.heap.with_mut(|there| unsafe { *there = false });
        loop {
            self.put_back_freed(self.thread_free.take());
            if self.thread_free.abandon() {
                return;
            }
        }
    }

    fn assert_returned(&self, expected: &[usize]) {
        // SAFETY: the threads have ended.
        let mut all = self.returned.with(|all| unsafe { (*all).clone() });
        all.sort_unstable();
        assert_eq!(all, expected);
    }
}

/// Another thread frees a cell. Whether it owns the block then.
fn free_elsewhere(block: &Arc<Block>, cell: usize) -> JoinHandle<bool> {
    let block = Arc::clone(block);
    thread::spawn(move || block.free(cell))
}

#[test]
fn the_owner_takes_what_two_threads_free() {
    loom::model(|| {
        let block = Block::new();
        let threads = [8, 16].map(|cell| free_elsewhere(&block, cell));
        block.put_back_freed(block.thread_free.take());
        for thread in threads {
            assert!(!thread.join().unwrap());
        }
        block.put_back_freed(block.thread_free.take());
        block.assert_returned(&[8, 16]);
    });
}

/// One of the two reaches the heap, so that the owner looks at the block.
#[test]
fn a_full_block_delays_the_first_free() {
    loom::model(|| {
        let block = Block::full();
        let threads = [8, 16].map(|cell| free_elsewhere(&block, cell));
        block.put_back(block.delayed.take());
        for thread in threads {
            thread.join().unwrap();
        }
        block.put_back(block.delayed.take());
        // SAFETY: the threads have ended.
        assert_eq!(block.returned.with(|all| unsafe { (*all).len() }), 1);
        block.put_back_freed(block.thread_free.take());
        block.assert_returned(&[8, 16]);
    });
}

/// The block becomes full while another thread frees a cell of it: the owner sees the cell on one list or the other.
#[test]
fn no_free_is_missed_when_a_block_becomes_full() {
    loom::model(|| {
        let block = Block::new();
        let thread = free_elsewhere(&block, 8);
        assert!(block.thread_free.set_delayed(true));
        block.put_back_freed(block.thread_free.take());
        thread.join().unwrap();
        block.put_back(block.delayed.take());
        block.assert_returned(&[8]);
    });
}

/// The last cell of a full block is freed, after which its owner releases it.
#[test]
fn a_block_stays_while_a_free_is_delayed() {
    loom::model(|| {
        let block = Block::full();
        let thread = free_elsewhere(&block, 8);
        // SAFETY: the block is the caller's; loom checks that.
        while block.returned.with(|all| unsafe { (*all).is_empty() }) {
            block.free_delayed();
            thread::yield_now();
        }
        block.header.with_mut(|_| ());
        thread.join().unwrap();
        block.assert_returned(&[8]);
    });
}

#[test]
fn a_heap_stays_while_a_free_is_delayed() {
    loom::model(|| {
        let block = Block::full();
        let thread = free_elsewhere(&block, 8);
        block.end();
        thread.join().unwrap();
        block.thread_free.claim();
        block.assert_returned(&[8]);
    });
}

/// Of two threads that free in an abandoned block and one that adopts it, one becomes the owner.
#[test]
fn an_abandoned_block_gets_one_owner() {
    loom::model(|| {
        let block = Block::new();
        block.end();
        let threads = [8, 16].map(|cell| free_elsewhere(&block, cell));
        let adopted = block.thread_free.claim();
        let claims = threads.map(|thread| thread.join().unwrap() as usize);
        assert_eq!(adopted as usize + claims[0] + claims[1], 1);
        block.put_back_freed(block.thread_free.take());
        block.assert_returned(&[8, 16]);
    });
}

/// The owner ends while others free cells, one of which may become the owner.
#[test]
fn no_cell_is_lost_when_the_owner_ends() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let block = Block::full();
        let threads = [8, 16].map(|cell| free_elsewhere(&block, cell));
        block.end();
        for thread in threads {
            thread.join().unwrap();
        }
        block.thread_free.claim();
        block.put_back_freed(block.thread_free.take());
        block.assert_returned(&[8, 16]);
    });
}

/// Takes a spare thing or makes one, as a thread does with its heap, writes to it, and gives it back. `things` are 1, 2, ...
fn use_one(spare: &Spare<1>, things: &[UnsafeCell<usize>], made: usize) -> bool {
    let thing = spare.take().unwrap_or(made);
    // SAFETY: the thing is the caller's; loom checks that.
    things[thing - 1].with_mut(|users| unsafe { *users += 1 });
    spare.put(thing)
}

#[test]
fn a_spare_heap_has_one_user() {
    loom::model(|| {
        let spare = Arc::new(Spare::<1>::new());
        let things: Arc<[UnsafeCell<usize>; 3]> =
            Arc::new(std::array::from_fn(|_| UnsafeCell::new(0)));
        let others = [2, 3].map(|made| {
            let (spare, things) = (spare.clone(), things.clone());
            thread::spawn(move || use_one(&spare, &*things, made))
        });
        let kept = use_one(&spare, &*things, 1);
        let kept = others.map(|other| other.join().unwrap()).contains(&true) || kept;
        assert!(kept, "there was room for one");
        let last = spare.take().expect("it is there");
        // SAFETY: it was taken; loom checks that.
        let users = things[last - 1].with(|users| unsafe { *users });
        assert!(users > 0 && spare.take().is_none());
    });
}
