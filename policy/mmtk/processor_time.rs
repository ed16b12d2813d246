// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processor time of workers: what collections cost. A pause by the clock is longer where compilers and other processes have the
//! processors too, and says less of what there was to do.

use std::sync::Mutex;
use std::time::Duration;

/// The clock of each worker.
static CLOCKS: Mutex<Vec<libc::clockid_t>> = Mutex::new(Vec::new());

/// Counts the calling thread among the workers.
pub fn count_worker() {
    let mut clock = 0;
    // SAFETY: the calling thread is alive, and the system writes one number.
    if unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) } == 0 {
        CLOCKS.lock().unwrap().push(clock);
    }
}

/// How long workers have had processors, all together. Those that have ended do not count.
pub(crate) fn of_workers() -> Duration {
    CLOCKS.lock().unwrap().iter().map(read).sum()
}

/// What a clock says; nothing if its thread has ended.
fn read(clock: &libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the system writes one time, if it knows the clock.
    unsafe { libc::clock_gettime(*clock, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
#[path = "processor_time/tests.rs"]
mod tests;
