// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread that returns free memory to the OS while mutators run.

use shardsweep_policy::{PageRange, Purged, PAGE_BYTES};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::thread;

/// Batches of pages, each returned at a step.
type Batches = Box<dyn Iterator<Item = Purged> + Send>;

/// A thread that purges after each collection, one batch after the other: at once where a processor is idle or
/// mutators could hardly use the pages, and otherwise a batch now and then. It touches no object, and the VM does not know it.
pub struct Purger {
    /// Pages that are still to be returned.
    pages: AtomicUsize,
    /// Where they come from. Locked during a batch.
    batches: Mutex<Batches>,
    work: Condvar,
    /// Whether there is a thread; unknown before the first start.
    alive: OnceLock<bool>,
}

impl Purger {
    /// A purger without a thread: most heaps are too small to need one.
    pub fn new() -> Self {
        Purger {
            pages: AtomicUsize::new(0),
            batches: Mutex::new(Box::new(std::iter::empty())),
            work: Condvar::new(),
            alive: OnceLock::new(),
        }
    }

    /// Has `pages` pages to be returned, or fewer if `batches` have no more. Does not wake the thread.
    pub fn assign(
        &'static self,
        pages: usize,
        batches: impl Iterator<Item = Purged> + Send + 'static,
    ) {
        if *self.alive.get_or_init(|| self.spawn()) {
            *self.batches.lock().unwrap() = Box::new(batches);
            self.pages.store(pages, Ordering::Relaxed);
        }
    }

    /// Wakes the thread if there are pages to be returned.
    pub fn wake(&self) {
        if self.pages.load(Ordering::Relaxed) != 0 {
            self.work.notify_all();
        }
    }

    fn spawn(&'static self) -> bool {
        let thread = thread::Builder::new().name("MMTk purger".to_owned());
        let spawned = thread.spawn(|| self.run());
        if let Err(error) = &spawned {
            warn!("free memory stays resident: there is no thread to return it: {error}");
        }
        spawned.is_ok()
    }

    /// Stops, after at most one more batch: none is begun before more is assigned.
    pub fn stop(&self) {
        self.pages.store(0, Ordering::Relaxed);
        drop(self.batches.lock().unwrap());
    }

    /// Returns in the caller's thread what is left to be returned.
    pub fn finish(&self) {
        while self.purge_batch().is_some() {}
    }

    /// Purges the next batch, if there is one.
    fn purge_batch(&self) -> Option<Purged> {
        let mut batches = self.batches.lock().unwrap();
        if self.pages.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let purged = batches.next();
        let done = purged.map_or(usize::MAX, |purged| purged.pages);
        // Of 0, if it has been stopped meanwhile, 0 remain.
        let subtract = |pages: usize| Some(pages.saturating_sub(done));
        let _ = self
            .pages
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract);
        purged
    }

    fn run(&self) -> ! {
        loop {
            let idle = |_: &mut Batches| self.pages.load(Ordering::Relaxed) == 0;
            drop(self.work.wait_while(self.batches.lock().unwrap(), idle));
            if self.purge_batch().is_some_and(|purged| purged.of_free_blocks) {
                // Where all processors are busy, mutators come first: what they use again before its turn has
                // come costs them no page fault.
                thread::yield_now();
            }
        }
    }
}

/// Gives pages back to the OS, which zeroes them when they are touched again.
pub fn return_to_os(ranges: &[PageRange]) {
    ranges.iter().for_each(return_range);
}

fn return_range(range: &PageRange) {
    let start = std::ptr::with_exposed_provenance_mut(range.start);
    // SAFETY: the pages are mapped, and no live or free cell lies on them.
    let status = unsafe { libc::madvise(start, range.pages * PAGE_BYTES, libc::MADV_DONTNEED) };
    if status != 0 {
        // Nothing is lost but memory. The system refuses if the pages are locked in memory, for one.
        warn!(
            "{} pages at {:#x} stay resident: {}",
            range.pages,
            range.start,
            std::io::Error::last_os_error()
        );
    }
}
