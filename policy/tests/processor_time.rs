// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of what counts the processor time of workers, which is compiled as a part of mmtk-core otherwise: that crate's own
//! tests are not run.

#![cfg(not(any(loom, miri)))]

#[path = "../mmtk/processor_time.rs"]
mod processor_time;
