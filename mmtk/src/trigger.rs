// SPDX-License-Identifier: MIT OR Apache-2.0
//! The size of the heap between `-Xms` and `-Xmx`, and when it is full.
//!
//! The size follows what has survived, by the rule of HotSpot's own collectors: after a collection
//! between `MinHeapFreeRatio` and `MaxHeapFreeRatio` percent of it are free. mmtk's own policy
//! (MemBalancer) stays close to the live size, at the price of many more collections. Where objects do not move, a collection of new
//! ones alone lets the heap grow for what is asked for, no more.

use crate::{allocation, upcalls, OpenJDK};
use mmtk::util::heap::{GCTriggerPolicy, SpaceStats};
use mmtk::vm::VMBinding;
use mmtk::{Plan, MMTK};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

/// Bytes of an OS page, in which mmtk counts.
pub const PAGE: usize = 4096;

/// What the VM has said of the heap's size.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Bytes of `-Xms`.
    pub min: usize,
    /// Bytes of `-Xmx`.
    pub max: usize,
}

/// What else bounds it, and may change while the VM runs.
struct Wishes {
    /// Pages that it is not to exceed as long as live objects fit.
    soft_max: usize,
    /// The least and the greatest part of the heap that is free after a collection, in percent.
    free_percent: RangeInclusive<usize>,
}

impl Wishes {
    fn now() -> Self {
        let flags = upcalls::size_flags();
        let [min, max] = [flags.min_heap_free_ratio, flags.max_heap_free_ratio]
            .map(|ratio| ratio.min(100) as usize);
        Wishes {
            soft_max: flags.soft_max_heap_size as usize / PAGE,
            free_percent: min..=max,
        }
    }
}

static BOUNDS: OnceLock<Bounds> = OnceLock::new();

/// What is free after a collection of a heap that `SoftMaxHeapSize` would leave too small, in percent.
const FREE_PERCENT_ABOVE_SOFT_MAX: usize = 10;

/// Sets the bounds. Called once, before the heap is made.
pub fn set_bounds(bounds: Bounds) {
    BOUNDS.set(bounds).expect("there is one heap");
}

fn bounds() -> &'static Bounds {
    BOUNDS
        .get()
        .expect("bounds are set before the heap is made")
}

/// The largest size of the heap, in pages.
pub fn max_pages() -> usize {
    bounds().max.div_ceil(PAGE)
}

impl Bounds {
    /// The next size of a heap of `current` pages in which `occupied` pages are in use, or are waited
    /// for by threads, and of which `free` pages at least are to be free.
    fn next_size(&self, current: usize, occupied: usize, free: usize, wishes: &Wishes) -> usize {
        let with_free = |percent| {
            (occupied * 100)
                .checked_div(100 - percent)
                .unwrap_or(usize::MAX)
        };
        let at_least = with_free(*wishes.free_percent.start()).max(occupied + free);
        let at_most = with_free(*wishes.free_percent.end()).max(at_least);
        let size = current.max(at_least).min(at_most);
        let size = size.min(wishes.soft_max.max(with_free(FREE_PERCENT_ABOVE_SOFT_MAX)));
        size.clamp(self.min.div_ceil(PAGE), self.max.div_ceil(PAGE))
    }
}

/// Pages that a generational plan needs free after a collection, or else the next one is full: mmtk
/// wants room for a nursery, of a quarter of the heap and 2 MiB at least, and for its copy.
fn nursery_room(occupied: usize) -> usize {
    occupied.max((4 << 20) / PAGE)
}

/// Whether this collection has looked at new objects alone, of a plan in which old ones lie among them: what is occupied is in part
/// garbage. A plan that moves objects has old ones in a space of their own, and room for them.
fn leaves_old_garbage<VM: VMBinding>(plan: &dyn Plan<VM = VM>) -> bool {
    let is_partial = plan
        .generational()
        .is_some_and(|plan| plan.is_current_gc_nursery());
    is_partial && !plan.constraints().moves_objects
}

/// Pages that threads wait for in this collection.
static PENDING: AtomicUsize = AtomicUsize::new(0);

/// Threads that wait run again, and ask again for what they have waited for.
pub fn forget_pending() {
    PENDING.store(0, Ordering::Relaxed);
}

/// What threads wait for now, in pages.
#[cfg(test)]
pub fn pending() -> usize {
    PENDING.load(Ordering::Relaxed)
}

/// The policy of the one heap.
pub struct HeapSize {
    current: AtomicUsize,
}

impl HeapSize {
    /// A heap of the least size.
    pub fn new() -> Self {
        Self {
            current: AtomicUsize::new(bounds().min.div_ceil(PAGE)),
        }
    }
}

impl<const COMPRESSED: bool> GCTriggerPolicy<OpenJDK<COMPRESSED>> for HeapSize {
    fn on_pending_allocation(&self, pages: usize) {
        PENDING.fetch_add(pages, Ordering::Relaxed);
    }

    fn on_gc_end(&self, mmtk: &'static MMTK<OpenJDK<COMPRESSED>>) {
        let plan = mmtk.get_plan();
        let current = self.current.load(Ordering::Relaxed);
        let pending = PENDING.load(Ordering::Relaxed);
        let occupied = plan.get_reserved_pages() + pending;
        // A plan that reserves room for copies does so for what is allocated next too.
        let copy = pending.min(plan.get_collection_reserved_pages());
        let mut free = plan.generational().map_or(copy, |_| nursery_room(occupied));
        let mut wishes = Wishes::now();
        if leaves_old_garbage(plan) {
            // How much has to be free is known after a full collection, which comes when ever less is.
            free = 0;
            wishes.free_percent = 0..=*wishes.free_percent.end();
        }
        let size = bounds().next_size(current, occupied, free, &wishes);
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

    const MAX: usize = 10_000;

    fn next_size(
        current: usize,
        occupied: usize,
        free: usize,
        free_percent: RangeInclusive<usize>,
        soft_max: usize,
    ) -> usize {
        let bounds = Bounds {
            min: 200 * PAGE,
            max: MAX * PAGE,
        };
        let wishes = Wishes {
            soft_max,
            free_percent,
        };
        bounds.next_size(current, occupied, free, &wishes)
    }

    #[test]
    fn size_follows_the_live_objects() {
        let next_size = |current, occupied, free| next_size(current, occupied, free, 40..=70, MAX);
        assert_eq!(next_size(1000, 500, 0), 1000, "half of it is free");
        assert_eq!(next_size(1000, 900, 0), 1500, "40 % free");
        assert_eq!(next_size(1000, 150, 0), 500, "70 % free");
        assert_eq!(next_size(1000, 500, 600), 1100, "600 are free");
        assert_eq!(next_size(1000, 10, 600), 610, "also of a small heap");
        assert_eq!(next_size(1000, 0, 0), 200, "-Xms");
        assert_eq!(next_size(1000, MAX, 0), MAX, "-Xmx");
    }

    #[test]
    fn soft_maximum() {
        let next_size = |occupied, soft_max| next_size(1000, occupied, 0, 40..=70, soft_max);
        assert_eq!(next_size(500, 600), 600, "it fits");
        assert_eq!(next_size(540, 590), 600, "live objects need more");
        assert_eq!(next_size(0, 100), 200, "-Xms");
    }

    #[test]
    fn extreme_ratios() {
        let next_size = |occupied, free_percent| next_size(1000, occupied, 0, free_percent, MAX);
        assert_eq!(next_size(1, 0..=100), 1000);
        assert_eq!(next_size(2000, 0..=100), 2000);
        assert_eq!(next_size(500, 100..=100), MAX);
        assert_eq!(next_size(500, 0..=0), 500);
    }
}
