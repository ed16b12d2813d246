// SPDX-License-Identifier: MIT OR Apache-2.0
//! The size of the heap between `-Xms` and `-Xmx`, and when it is full.
//!
//! The size follows what has survived, by the rule of HotSpot's own collectors: after a collection
//! between `MinHeapFreeRatio` and `MaxHeapFreeRatio` percent of it are free. mmtk's own policy
//! (MemBalancer) stays close to the live size, at the price of many more collections. A collection of new objects alone does not let
//! the heap grow by garbage among the old ones without end.

use crate::{allocation, heap, upcalls, OpenJDK};
use mmtk::util::heap::{GCTriggerPolicy, SpaceStats};
use mmtk::util::options::{NurserySize, Options, PlanSelector, DEFAULT_MIN_NURSERY};
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

/// What is free after a collection of a heap that `SoftMaxHeapSize` would leave too small, in percent, unless the next one needs more.
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
        let needed = occupied.saturating_add(free);
        let at_least = with_free(*wishes.free_percent.start()).max(needed);
        let at_most = with_free(*wishes.free_percent.end()).max(at_least);
        let size = current.max(at_least).min(at_most);
        let above_soft = with_free(FREE_PERCENT_ABOVE_SOFT_MAX);
        let size = size.min(if above_soft > wishes.soft_max {
            above_soft.max(needed)
        } else {
            wishes.soft_max
        });
        size.clamp(self.min.div_ceil(PAGE), self.max.div_ceil(PAGE))
    }
}

/// Pages that halving what is free, and rounding the nursery up, may lose.
const NURSERY_SLACK: usize = 2;

/// Pages that a generational plan needs free after a collection, or else the next one is full: mmtk wants room for the least nursery,
/// and for its copy.
fn nursery_room(occupied: usize, nursery: &NurserySize) -> usize {
    let room = match *nursery {
        NurserySize::Fixed(bytes) | NurserySize::Bounded { min: bytes, .. } => {
            2 * bytes.div_ceil(PAGE)
        }
        NurserySize::ProportionalBounded { min, .. } => {
            // Both are parts of the heap with this room. No heap has room for twice its half.
            let rest = (occupied + NURSERY_SLACK) as f64;
            let room = match 2.0 * min {
                part if part < 1.0 => (rest * part / (1.0 - part)).ceil() as usize,
                _ => 0,
            };
            room.max(2 * DEFAULT_MIN_NURSERY / PAGE)
        }
    };
    room.saturating_add(NURSERY_SLACK)
}

/// Whether this collection has looked at new objects alone.
pub fn is_partial<VM: VMBinding>(plan: &dyn Plan<VM = VM>) -> bool {
    plan.generational()
        .is_some_and(|plan| plan.is_current_gc_nursery())
}

/// Whether a partial collection lets the heap grow for what it has left, of which a part may be garbage. It does so as long as that is
/// not twice what the last full one has left, where new objects have a space of their own: a plan that has room for copies alone would
/// have every second collection be full. Where old objects lie among new ones, it does not.
fn grows_by_old_objects(plan: PlanSelector, occupied: usize, after_full: usize) -> bool {
    let has_own_space = matches!(plan, PlanSelector::GenCopy | PlanSelector::GenImmix);
    has_own_space && occupied <= 2 * after_full
}

/// Whether the plan chooses at the end of a pause if the next collection is full, by the size that the heap then has. It does so before
/// it says that the collection has ended.
fn chooses_by_size(options: &Options) -> bool {
    matches!(
        *options.plan,
        PlanSelector::GenCopy | PlanSelector::GenImmix | PlanSelector::StickyImmix
    )
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

/// Pages in use, and those that threads wait for.
fn occupied<VM: VMBinding>(plan: &dyn Plan<VM = VM>) -> usize {
    plan.get_reserved_pages() + PENDING.load(Ordering::Relaxed)
}

/// Pages for copies of what threads wait for. A plan that reserves room for copies does so for what is allocated next too.
fn copies<VM: VMBinding>(plan: &dyn Plan<VM = VM>) -> usize {
    PENDING
        .load(Ordering::Relaxed)
        .min(plan.get_collection_reserved_pages())
}

/// The policy of the one heap.
pub struct HeapSize {
    current: AtomicUsize,
    /// Pages that the last full collection has left in use, or that were waited for.
    after_full: AtomicUsize,
}

impl HeapSize {
    /// A heap of the least size.
    pub fn new() -> Self {
        Self {
            current: AtomicUsize::new(bounds().min.div_ceil(PAGE)),
            after_full: AtomicUsize::new(0),
        }
    }

    /// Gives the heap the size that follows from what a collection has left.
    fn resize<VM: VMBinding>(&self, mmtk: &MMTK<VM>) {
        let plan = mmtk.get_plan();
        let current = self.current.load(Ordering::Relaxed);
        let occupied = occupied(plan);
        let options = mmtk.get_options();
        let is_partial = is_partial(plan);
        if !is_partial {
            self.after_full.store(occupied, Ordering::Relaxed);
        }
        let after_full = self.after_full.load(Ordering::Relaxed);
        let mut free = copies(plan);
        let mut wishes = Wishes::now();
        if is_partial && !grows_by_old_objects(*options.plan, occupied, after_full) {
            // How much has to be free is known after a full collection, which comes when ever less is.
            wishes.free_percent = 0..=*wishes.free_percent.end();
        } else if chooses_by_size(options) {
            free = free.max(nursery_room(occupied, &options.nursery));
        }
        let size = bounds().next_size(current, occupied, free, &wishes);
        self.current.store(size, Ordering::Relaxed);
    }
}

impl<const COMPRESSED: bool> GCTriggerPolicy<OpenJDK<COMPRESSED>> for HeapSize {
    fn on_pending_allocation(&self, pages: usize) {
        PENDING.fetch_add(pages, Ordering::Relaxed);
    }

    fn on_pause_end(&self, mmtk: &'static MMTK<OpenJDK<COMPRESSED>>) {
        if chooses_by_size(mmtk.get_options()) {
            self.resize(mmtk);
        }
    }

    fn on_gc_end(&self, mmtk: &'static MMTK<OpenJDK<COMPRESSED>>) {
        if !chooses_by_size(mmtk.get_options()) {
            self.resize(mmtk);
        }
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

    // mmtk asks when a collection begins. Where the heap has room for what threads wait for, addresses have run out: they would
    // in a larger heap too.
    fn can_heap_size_grow(&self) -> bool {
        let plan = heap::mmtk::<COMPRESSED>().get_plan();
        let current = self.current.load(Ordering::Relaxed);
        current < max_pages() && occupied(plan) + copies(plan) > current
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
        let next_size =
            |occupied, free, soft_max| next_size(1000, occupied, free, 40..=70, soft_max);
        assert_eq!(next_size(500, 0, 600), 600, "it fits");
        assert_eq!(next_size(540, 0, 590), 600, "live objects need more");
        assert_eq!(next_size(540, 300, 590), 840, "and so does the nursery");
        assert_eq!(next_size(0, 0, 100), 200, "-Xms");
    }

    /// mmtk's own rule: a part of what is free, and the copy of that.
    fn is_next_full(size: usize, occupied: usize, least: f64) -> bool {
        let least = ((size * PAGE) as f64 * least) as usize;
        (size - occupied) / 2 < least.max(DEFAULT_MIN_NURSERY).div_ceil(PAGE)
    }

    #[test]
    fn a_nursery_has_room() {
        for min in [0.1, 0.25, 0.4] {
            let nursery = NurserySize::ProportionalBounded { min, max: 1.0 };
            for occupied in (1..10_000).chain([1_000_001]) {
                let size = occupied + nursery_room(occupied, &nursery);
                assert!(!is_next_full(size, occupied, min), "{min}, {occupied}");
            }
            // Not much more than it takes.
            let size = 100_000 + nursery_room(100_000, &nursery);
            assert!(is_next_full(size - 10, 100_000, min));
        }
        let fixed = NurserySize::Fixed(300 * PAGE - 1);
        assert_eq!(nursery_room(7, &fixed), 602);
        let (min, max) = (300 * PAGE, 700 * PAGE);
        assert_eq!(nursery_room(7, &NurserySize::Bounded { min, max }), 602);
        for min in [0.5, 1.0] {
            let nursery = NurserySize::ProportionalBounded { min, max: 1.0 };
            assert_eq!(nursery_room(1000, &nursery), 1026, "there is none");
        }
    }

    #[test]
    fn old_garbage_does_not_let_the_heap_grow() {
        for (plan, occupied, grows) in [
            (PlanSelector::GenCopy, 200, true),
            (PlanSelector::GenImmix, 201, false),
            (PlanSelector::StickyImmix, 100, false),
        ] {
            assert_eq!(grows_by_old_objects(plan, occupied, 100), grows);
        }
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
