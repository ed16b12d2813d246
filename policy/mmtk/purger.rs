// SPDX-License-Identifier: MIT OR Apache-2.0
//! The return of free memory to the OS while mutators run. Unmapping a page takes longer than finding out
//! that it is free, so that the pause would be made of little else in a large heap.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::thread;

/// A thread that purges after each collection, one batch after the other. It touches no object, and the VM
/// does not know it.
pub struct Purger {
    /// Pages that are still to be returned.
    pages: AtomicUsize,
    /// Held during a batch.
    batch: Mutex<()>,
    changed: Condvar,
    /// Whether there is a thread; unknown before the first start.
    alive: OnceLock<bool>,
}

impl Purger {
    /// A purger without a thread: most heaps are too small to need one.
    pub fn new() -> Self {
        Purger {
            pages: AtomicUsize::new(0),
            batch: Mutex::new(()),
            changed: Condvar::new(),
            alive: OnceLock::new(),
        }
    }

    /// Starts to return `pages` pages. `purge` returns a batch and says how many pages that were; 0 means
    /// that there are none left. Only the first call's is used.
    pub fn start(&'static self, pages: usize, purge: impl Fn() -> usize + Send + 'static) {
        if pages != 0 && *self.alive.get_or_init(|| self.spawn(purge)) {
            let _batch = self.batch.lock().unwrap();
            self.pages.store(pages, Ordering::Relaxed);
            self.changed.notify_all();
        }
    }

    fn spawn(&'static self, purge: impl Fn() -> usize + Send + 'static) -> bool {
        let thread = thread::Builder::new().name("MMTk purger".to_owned());
        let spawned = thread.spawn(move || self.run(&purge));
        if let Err(error) = &spawned {
            warn!("free memory stays resident: there is no thread to return it: {error}");
        }
        spawned.is_ok()
    }

    /// Stops, after at most one more batch: none is begun before the next start.
    pub fn stop(&self) {
        self.pages.store(0, Ordering::Relaxed);
        let _batch = self.batch.lock().unwrap();
        self.changed.notify_all();
    }

    /// Waits until nothing is left to be returned.
    pub fn wait(&self) {
        let mut batch = self.batch.lock().unwrap();
        while self.pages.load(Ordering::Relaxed) != 0 {
            batch = self.changed.wait(batch).unwrap();
        }
    }

    fn run(&self, purge: &impl Fn() -> usize) -> ! {
        loop {
            let mut batch = self.batch.lock().unwrap();
            while self.pages.load(Ordering::Relaxed) == 0 {
                self.changed.notify_all();
                batch = self.changed.wait(batch).unwrap();
            }
            let done = match purge() {
                0 => usize::MAX,
                pages => pages,
            };
            // Of 0, if it has been stopped meanwhile, 0 remain.
            let subtract = |pages: usize| Some(pages.saturating_sub(done));
            let _ = self
                .pages
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract);
        }
    }
}
