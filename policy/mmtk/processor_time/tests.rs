// SPDX-License-Identifier: MIT OR Apache-2.0
//! Run by `cargo test --package shardsweep-policy --test processor_time`.

use super::*;
use std::thread;

/// What a thread computes for, at least.
const STEP: Duration = Duration::from_millis(10);

/// By how much the time of workers has grown when a thread has computed for a step.
fn growth(is_worker: bool) -> Duration {
    let compute = move || {
        if is_worker {
            count_worker();
        }
        let before = of_workers();
        let own_time = || read(&libc::CLOCK_THREAD_CPUTIME_ID);
        let end = own_time() + STEP;
        while own_time() < end {}
        of_workers() - before
    };
    thread::spawn(compute).join().unwrap()
}

#[test]
fn time_of_workers_counts_and_no_other() {
    assert!(growth(false) < STEP);
    assert!(growth(true) >= STEP);
    assert!(growth(false) < STEP, "the worker has ended");
}
