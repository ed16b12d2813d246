// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of the purger, which is compiled as a part of mmtk-core otherwise: that crate's own tests are not run.

#![cfg(not(loom))]
#![allow(dead_code)]

/// As the crate `log` has it.
macro_rules! warn {
    (target: $target:expr, $($argument:tt)*) => { eprintln!("{}: {}", $target, format_args!($($argument)*)) };
    ($($argument:tt)*) => { eprintln!($($argument)*) };
}

const TO_THE_USER: &str = "shardsweep";

#[path = "../mmtk/os.rs"]
mod os;
#[path = "../mmtk/purger.rs"]
mod purger;
