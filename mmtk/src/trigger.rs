// SPDX-License-Identifier: MIT OR Apache-2.0
//! The size of the heap between `-Xms` and `-Xmx`, and when it is full.
//!
//! The size follows what has survived, by the rule of HotSpot's own collectors: after a collection
//! between `MinHeapFreeRatio` (40 %) and `MaxHeapFreeRatio` (70 %) of it are free. mmtk's own
//! policy (MemBalancer) stays close to the live size, at the price of many more collections.

use crate::{allocation, OpenJDK};
use mmtk::util::heap::{GCTriggerPolicy, SpaceStats};
use mmtk::{Plan, MMTK};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of an OS page, in which mmtk counts.
pub const PAGE: usize = 4096;

const MIN_FREE_PERCENT: usize = 40;
const MAX_FREE_PERCENT: usize = 70;

static MIN_PAGES: AtomicUsize = AtomicUsize::new(0);
static MAX_PAGES: AtomicUsize = AtomicUsize::new(0);

/// Sets the bounds, in bytes. Called once, before the heap is made.
pub fn set_bounds(min: usize, max: usize) {
    MIN_PAGES.store(min.div_ceil(PAGE), Ordering::Relaxed);
    MAX_PAGES.store(max.div_ceil(PAGE), Ordering::Relaxed);
}

/// The largest size of the heap, in pages.
pub fn max_pages() -> usize {
    MAX_PAGES.load(Ordering::Relaxed)
}

/// The next size of a heap of `current` pages in which `live` pages have survived, while threads
/// wait for `pending` more.
fn next_size(current: usize, live: usize, pending: usize) -> usize {
    let occupied = live + pending;
    let at_least = occupied * 100 / (100 - MIN_FREE_PERCENT);
    let at_most = occupied * 100 / (100 - MAX_FREE_PERCENT);
    current.clamp(at_least, at_most)
}

/// The policy of the one heap.
pub struct HeapSize {
    current: AtomicUsize,
    /// Pages that threads wait for in this collection.
    pending: AtomicUsize,
}

impl HeapSize {
    /// A heap of the least size.
    pub fn new() -> Self {
        Self {
            current: AtomicUsize::new(MIN_PAGES.load(Ordering::Relaxed)),
            pending: AtomicUsize::new(0),
        }
    }
}

impl<const COMPRESSED: bool> GCTriggerPolicy<OpenJDK<COMPRESSED>> for HeapSize {
    fn on_pending_allocation(&self, pages: usize) {
        self.pending.fetch_add(pages, Ordering::Relaxed);
    }

    fn on_gc_end(&self, mmtk: &'static MMTK<OpenJDK<COMPRESSED>>) {
        let live = mmtk.get_plan().get_reserved_pages();
        let pending = self.pending.swap(0, Ordering::Relaxed);
        let current = self.current.load(Ordering::Relaxed);
        let size = next_size(current, live, pending);
        let size = size.clamp(MIN_PAGES.load(Ordering::Relaxed), max_pages());
        self.current.store(size, Ordering::Relaxed);
    }

    fn is_gc_required(
        &self,
        space_full: bool,
        space: Option<SpaceStats<OpenJDK<COMPRESSED>>>,
        plan: &dyn Plan<VM = OpenJDK<COMPRESSED>>,
    ) -> bool {
        allocation::may_collect() && plan.collection_required(space_full, space)
    }

    fn is_heap_full(&self, plan: &dyn Plan<VM = OpenJDK<COMPRESSED>>) -> bool {
        plan.get_reserved_pages() > self.current.load(Ordering::Relaxed)
    }

    fn get_current_heap_size_in_pages(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    fn get_max_heap_size_in_pages(&self) -> usize {
        max_pages()
    }

    fn can_heap_size_grow(&self) -> bool {
        self.current.load(Ordering::Relaxed) < max_pages()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_follows_the_live_objects() {
        assert_eq!(next_size(1000, 500, 0), 1000, "half of it is free");
        assert_eq!(next_size(1000, 900, 0), 1500, "40 % free");
        assert_eq!(next_size(1000, 150, 0), 500, "70 % free");
        assert_eq!(
            next_size(1000, 300, 600),
            1500,
            "what threads wait for counts"
        );
        assert_eq!(next_size(1000, 0, 0), 0, "the bounds are the caller's");
    }
}
