// SPDX-License-Identifier: MIT OR Apache-2.0
//! A few things of one kind that are nobody's now, such as the heaps of threads that have ended: the next thread need not ask
//! the OS for one.

use crate::sync::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Up to `COUNT` addresses that nobody uses. Any thread may put one in, and take one out. Zero is no address.
#[derive(Debug)]
pub struct Spare<const COUNT: usize>([AtomicUsize; COUNT]);

impl<const COUNT: usize> Default for Spare<COUNT> {
    fn default() -> Self {
        Spare::new()
    }
}

impl<const COUNT: usize> Spare<COUNT> {
    /// None at first.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Spare([const { AtomicUsize::new(0) }; COUNT])
    }

    /// None at first.
    #[cfg(loom)]
    pub fn new() -> Self {
        Spare(std::array::from_fn(|_| AtomicUsize::new(0)))
    }

    /// Takes one out. The caller sees all that was written by whoever has put it in.
    pub fn take(&self) -> Option<usize> {
        let mut there = self.0.iter().filter(|slot| slot.load(Relaxed) != 0);
        there.find_map(|slot| Some(slot.swap(0, Acquire)).filter(|&address| address != 0))
    }

    /// Puts one in. False if there is no room.
    pub fn put(&self, address: usize) -> bool {
        let mut none = self.0.iter().filter(|slot| slot.load(Relaxed) == 0);
        none.any(|slot| slot.compare_exchange(0, address, Release, Relaxed).is_ok())
    }
}
