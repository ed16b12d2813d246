// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of a block that one thread at a time writes, as those in a `Cell`, and that other threads read for the statistics. What these read
//! may be old. The number that each allocation and each free changes is none of them: a free of a `Cell` decrements and tests in one
//! instruction, which an atomic store keeps the compiler from.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU8, AtomicUsize};

macro_rules! shown {
    ($name:ident, $atomic:ident, $number:ident) => {
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct $name($atomic);

        impl $name {
            pub const fn new(number: $number) -> Self {
                $name($atomic::new(number))
            }

            #[inline(always)]
            pub fn get(&self) -> $number {
                self.0.load(Relaxed)
            }

            #[inline(always)]
            pub fn set(&self, number: $number) {
                self.0.store(number, Relaxed);
            }
        }
    };
}

shown!(ShownU8, AtomicU8, u8);
shown!(ShownU32, AtomicU32, u32);
shown!(ShownUsize, AtomicUsize, usize);
