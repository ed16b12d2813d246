// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work inside a pause that one worker comes to and others share. Those others may come late, or not at all: the first one waits
//! only for what they have begun. So a stage of a pause ends without a bucket of its own, for which all workers would park and wake.

use crate::OpenJDK;
use mmtk::scheduler::{GCWork, GCWorker, WorkBucketStage};
use mmtk::{memory_manager, MMTK};
use std::sync::{Arc, Condvar, Mutex};

/// What the helpers of one piece of work, and the worker that has asked them, tell each other.
struct Helpers<T> {
    state: Mutex<State<T>>,
    one_left: Condvar,
}

struct State<T> {
    /// Whether nothing is left to do, but for what helpers have begun.
    is_over: bool,
    /// How many are at work.
    working: usize,
    results: Vec<T>,
}

/// No code panics while it holds the lock and lets the process live.
const NOT_POISONED: &str = "a thread panicked while it held this lock";

impl<T> Helpers<T> {
    fn new() -> Self {
        Self {
            state: Mutex::new(State {
                is_over: false,
                working: 0,
                results: Vec::new(),
            }),
            one_left: Condvar::new(),
        }
    }

    /// A helper begins, unless it comes too late.
    fn enter(&self) -> bool {
        let mut state = self.state.lock().expect(NOT_POISONED);
        if !state.is_over {
            state.working += 1;
        }
        !state.is_over
    }

    fn leave(&self, result: T) {
        let mut state = self.state.lock().expect(NOT_POISONED);
        state.working -= 1;
        state.results.push(result);
        self.one_left.notify_one();
    }

    /// Waits for those that have begun, and returns what they have found.
    fn join(&self) -> Vec<T> {
        let mut state = self.state.lock().expect(NOT_POISONED);
        state.is_over = true;
        let mut state = self
            .one_left
            .wait_while(state, |state| state.working != 0)
            .expect(NOT_POISONED);
        std::mem::take(&mut state.results)
    }
}

/// A helper's packet.
struct Help<T, W> {
    work: W,
    helpers: Arc<Helpers<T>>,
}

impl<const COMPRESSED: bool, T, W> GCWork<OpenJDK<COMPRESSED>> for Help<T, W>
where
    T: Send + 'static,
    W: FnOnce(&mut GCWorker<OpenJDK<COMPRESSED>>) -> T + Clone + Send + 'static,
{
    fn do_work(
        &mut self,
        worker: &mut GCWorker<OpenJDK<COMPRESSED>>,
        _mmtk: &'static MMTK<OpenJDK<COMPRESSED>>,
    ) {
        if self.helpers.enter() {
            let result = self.work.clone()(worker);
            self.helpers.leave(result);
        }
    }
}

/// Has the calling worker and up to `workers - 1` others do `work`, in which each claims parts until none is left. Returns what
/// each of them has found. `bucket` is the one that is open.
pub fn share<const COMPRESSED: bool, T, W>(
    worker: &mut GCWorker<OpenJDK<COMPRESSED>>,
    bucket: WorkBucketStage,
    workers: usize,
    work: W,
) -> Vec<T>
where
    T: Send + 'static,
    W: FnOnce(&mut GCWorker<OpenJDK<COMPRESSED>>) -> T + Clone + Send + 'static,
{
    if workers == 1 {
        return vec![work(worker)];
    }
    let helpers = Arc::new(Helpers::new());
    for _ in 1..workers {
        let packet = Help {
            work: work.clone(),
            helpers: helpers.clone(),
        };
        memory_manager::add_work_packet(worker.mmtk, bucket, packet);
    }
    let own = work(worker);
    let mut results = helpers.join();
    results.push(own);
    results
}

#[cfg(test)]
mod tests;
