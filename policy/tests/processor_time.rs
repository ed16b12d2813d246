// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of what counts the processor time of workers, which is compiled as a part of mmtk-core otherwise: that crate's own
//! tests are not run.

#![cfg(not(any(loom, miri)))]

#[path = "../mmtk/processor_time.rs"]
mod processor_time;

use processor_time::{count_worker, of_workers};
use std::thread;
use std::time::Duration;

/// What a thread computes for, at least.
const STEP: Duration = Duration::from_millis(10);

/// By how much the time of workers has grown when a thread has computed for a step.
fn growth(is_worker: bool) -> Duration {
    let compute = move || {
        if is_worker {
            count_worker();
        }
        let before = of_workers();
        let end = own_time() + STEP;
        while own_time() < end {}
        of_workers() - before
    };
    thread::spawn(compute).join().unwrap()
}

/// The processor time of the calling thread.
fn own_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the system writes one time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn time_of_workers_counts_and_no_other() {
    assert!(growth(false) < STEP);
    assert!(growth(true) >= STEP);
    assert!(growth(false) < STEP, "the worker has ended");
}
