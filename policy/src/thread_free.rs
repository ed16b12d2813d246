// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells that threads free in blocks of others: the thread-free list of a block, with its state, and the list of
//! delayed frees of a heap (mimalloc's report, 2.4 and 3.4).
//!
//! The thread-free list is one word: the first cell, a state in the low two bits, and the number of cells in the high
//! sixteen. It is taken whole by the owner, who so need not read the cells to count them: they are in another processor's cache.
//! The state says what a thread that is not the owner does with a cell:
//!
//! | state | a free by another thread |
//! |---|---|
//! | `NORMAL` | pushes the cell on the thread-free list |
//! | `DELAYED`: the block is on its heap's full list, where nobody looks for cells | pushes the cell on the heap's list, meanwhile `DELAYING`, then `NORMAL` |
//! | `DELAYING`: another thread is doing so, and the heap must stay | as `NORMAL` |
//! | `ABANDONED`: the owner ended | makes the state `NORMAL`, by which it becomes the owner |
//!
//! Whoever changes `ABANDONED` to `NORMAL` owns the block and every field of it. So each step is one compare-exchange.
//! The list of an abandoned block is empty: it was so when the owner ended, and whoever frees a cell takes the block over first.

use crate::sync::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

const NORMAL: usize = 0;
const DELAYED: usize = 1;
const DELAYING: usize = 2;
const ABANDONED: usize = 3;
const STATES: usize = 3;
/// Addresses of cells are below this bit. The number of cells in the list is above.
const LOG_COUNT: u32 = 48;
const CELLS: usize = (1 << LOG_COUNT) - 1 - STATES;

/// Cells that other threads freed, each with its successor in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// Address of the first one; 0 if there is none.
    pub first: usize,
    /// How many they are.
    pub count: u32,
}

impl Freed {
    /// The list of a word of [`ThreadFree`].
    fn of(word: usize) -> Freed {
        Freed {
            first: word & CELLS,
            count: (word >> LOG_COUNT) as u32,
        }
    }
}

/// What became of a cell that another thread freed.
#[derive(Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It is on the thread-free list.
    Listed,
    /// The caller must push it on the delayed list of the block's heap, and then call [`ThreadFree::delayed`].
    Delay,
    /// The caller owns the block now. The cell is still in its hand.
    Claimed,
}

/// The thread-free list of a block. Zero is an empty list in the state `NORMAL`.
#[derive(Debug)]
pub struct ThreadFree(AtomicUsize);

impl Default for ThreadFree {
    fn default() -> Self {
        ThreadFree::new()
    }
}

impl ThreadFree {
    /// So many cells a block has at most, as the list counts them.
    pub const MAX_CELLS: u32 = u32::MAX >> (LOG_COUNT - 32);

    /// An empty list, `NORMAL`.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        ThreadFree(AtomicUsize::new(NORMAL))
    }

    /// An empty list, `NORMAL`.
    #[cfg(loom)]
    pub fn new() -> Self {
        ThreadFree(AtomicUsize::new(NORMAL))
    }

    /// A thread that is not the owner frees `cell`. `link` makes its argument the successor of the cell.
    pub fn push(&self, cell: usize, link: impl Fn(usize)) -> Pushed {
        let mut word = self.0.load(Relaxed);
        loop {
            let (new, pushed) = match word & STATES {
                DELAYED => (word - DELAYED + DELAYING, Pushed::Delay),
                ABANDONED => (NORMAL, Pushed::Claimed),
                state => {
                    let list = Freed::of(word);
                    link(list.first);
                    let count = list.count as usize + 1;
                    (count << LOG_COUNT | cell | state, Pushed::Listed)
                }
            };
            match self.0.compare_exchange_weak(word, new, AcqRel, Relaxed) {
                Ok(_) => return pushed,
                Err(now) => word = now,
            }
        }
    }

    /// The first cell of the list, which the owner only looks at.
    pub fn first(&self) -> usize {
        self.0.load(Acquire) & CELLS
    }

    /// Ends what [`Pushed::Delay`] began: the heap may go.
    pub fn delayed(&self) {
        // Nobody but the caller leaves this state.
        self.0.fetch_sub(DELAYING - NORMAL, Release);
    }

    /// The owner takes the whole list.
    pub fn take(&self) -> Freed {
        let mut word = self.0.load(Relaxed);
        while word & !STATES != 0 {
            match self
                .0
                .compare_exchange_weak(word, word & STATES, Acquire, Relaxed)
            {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        Freed::of(word)
    }

    /// The owner makes the first free by another thread a delayed one, or a normal one. False while one is being delayed.
    pub fn set_delayed(&self, delayed: bool) -> bool {
        let state = if delayed { DELAYED } else { NORMAL };
        let mut word = self.0.load(Relaxed);
        loop {
            if word & STATES == DELAYING {
                return false;
            }
            match self
                .0
                .compare_exchange_weak(word, (word & !STATES) | state, AcqRel, Relaxed)
            {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// Whether a free by another thread is to be a delayed one, and none was since that was set.
    pub fn is_delayed(&self) -> bool {
        self.0.load(Relaxed) & STATES == DELAYED
    }

    /// The owner gives the block up. False if the list is not empty, or a free is being delayed.
    pub fn abandon(&self) -> bool {
        let mut word = self.0.load(Relaxed);
        loop {
            if word != NORMAL && word != DELAYED {
                return false;
            }
            match self
                .0
                .compare_exchange_weak(word, ABANDONED, AcqRel, Relaxed)
            {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// Becomes the owner of the block, if it is an abandoned one.
    pub fn claim(&self) -> bool {
        self.0
            .compare_exchange(ABANDONED, NORMAL, AcqRel, Relaxed)
            .is_ok()
    }

    /// In the child of a fork: a thread that was delaying a free is not there. Its cell may be lost.
    pub fn forget_delaying(&self) {
        if self.0.load(Relaxed) & STATES == DELAYING {
            self.0.fetch_sub(DELAYING - DELAYED, Relaxed);
        }
    }
}

/// Cells whose free was delayed, of any block of one heap, each with its successor in it.
#[derive(Debug)]
pub struct DelayedFree(AtomicUsize);

impl Default for DelayedFree {
    fn default() -> Self {
        DelayedFree::new()
    }
}

impl DelayedFree {
    /// Ends the list. The list of a block ends in 0, so that the last cell tells on which it is.
    pub const END: usize = 1;

    /// An empty list.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        DelayedFree(AtomicUsize::new(Self::END))
    }

    /// An empty list.
    #[cfg(loom)]
    pub fn new() -> Self {
        DelayedFree(AtomicUsize::new(Self::END))
    }

    /// Any thread pushes `cell`; `link` makes its argument the successor of the cell.
    pub fn push(&self, cell: usize, link: impl Fn(usize)) {
        let mut head = self.0.load(Relaxed);
        loop {
            link(head);
            match self.0.compare_exchange_weak(head, cell, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// The thread of the heap takes the whole list. Its first cell, or [`END`](DelayedFree::END).
    pub fn take(&self) -> usize {
        if self.0.load(Relaxed) == Self::END {
            return Self::END;
        }
        self.0.swap(Self::END, Acquire)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_free_that_a_fork_cut_short_is_forgotten() {
        let list = ThreadFree::new();
        assert!(list.set_delayed(true));
        assert_eq!(list.push(8, |_| ()), Pushed::Delay);
        assert_eq!(list.push(16, |_| ()), Pushed::Listed);
        assert!(!list.set_delayed(false), "it is being delayed");
        list.forget_delaying();
        assert!(list.is_delayed(), "the next free says so again");
        assert!(list.set_delayed(false));
        list.forget_delaying();
        let freed = Freed {
            first: 16,
            count: 1,
        };
        assert_eq!(list.take(), freed);
        assert!(list.abandon(), "no other state is forgotten");
        list.forget_delaying();
        assert!(list.claim());
    }
}
