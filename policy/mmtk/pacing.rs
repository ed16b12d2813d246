// SPDX-License-Identifier: MIT OR Apache-2.0
//! When concurrent marking has to begin, to be over before the heap is full.
//!
//! What is free are pages that are not charged, and cells on the others. Not all cells are of use: nobody may ask for their sizes. How
//! many are not is learnt from how many were left when a thread found the heap full, or when marking began, the last times.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Marking begins when so many times what is likely to be handed out beside it is free, ...
const MARGIN: usize = 2;
/// ... or one part in so many of the heap.
pub(crate) const LEAST_FRACTION: usize = 16;
/// Pages that are likely to be handed out, of which nothing is known yet: more than there are.
const UNKNOWN: usize = usize::MAX / MARGIN;
/// From one marking to the next, what is likely to be handed out falls by at most one part in so many.
const LESS_FRACTION: usize = 4;
/// Where marking begins with fewer cells left than were taken to be of no use, that number falls by the difference over this.
const LATER_FRACTION: usize = 2;

/// What the last collections say of the next. All numbers are of pages, or of as much as cells make.
pub(crate) struct Pacing {
    /// Handed out when marking began.
    handed_out_before: AtomicUsize,
    /// Likely to be handed out while it runs.
    handed_out_meanwhile: AtomicUsize,
    /// With more free than this, marking does not begin, whatever is likely.
    earliest: AtomicUsize,
    /// Cells that are taken to be of no use: none at first, as a full heap tells more than a marking that begins.
    useless: AtomicUsize,
}

impl Pacing {
    pub(crate) fn new() -> Self {
        Pacing {
            handed_out_before: AtomicUsize::new(0),
            handed_out_meanwhile: AtomicUsize::new(UNKNOWN),
            earliest: AtomicUsize::new(usize::MAX),
            useless: AtomicUsize::new(0),
        }
    }

    /// Marking begins. So many have been handed out since the last collection, and so many cells are left: more than are of no use,
    /// though not always by as much.
    pub(crate) fn begin(&self, handed_out: usize, cells: usize) {
        self.handed_out_before.store(handed_out, Ordering::Relaxed);
        let useless = self.useless.load(Ordering::Relaxed);
        let less = useless.saturating_sub(cells) / LATER_FRACTION;
        self.useless.store(useless - less, Ordering::Relaxed);
    }

    /// Marking has ended. Where it did so in the pause in which it began, that says little of the next time. Where it was `late`,
    /// threads had to wait for it, and would have been handed out more.
    pub(crate) fn end(&self, handed_out: usize, late: bool) {
        let beside = handed_out.saturating_sub(self.handed_out_before.load(Ordering::Relaxed));
        let beside = if late { 2 * beside } else { beside };
        let likely = match self.handed_out_meanwhile.load(Ordering::Relaxed) {
            UNKNOWN => beside,
            last => beside.max(last - last / LESS_FRACTION),
        };
        self.handed_out_meanwhile.store(likely, Ordering::Relaxed);
    }

    /// A thread has found the heap full, though so many cells are left.
    pub(crate) fn note_full(&self, cells: usize) {
        self.useless.fetch_max(cells, Ordering::Relaxed);
    }

    /// A collection has left so many free. Half of them are to be used before marking begins again: each marking takes all that is
    /// allocated beside it for live. After a full pause a quarter is, as nothing dead is left, and another full pause is worse.
    pub(crate) fn note_free(&self, pages: usize, cells: usize, full: bool) {
        let free = self.free(pages, cells);
        let used = if full { free / 4 } else { free / 2 };
        self.earliest.store(free - used, Ordering::Relaxed);
    }

    /// How many are free that are likely to be of use, where so many pages are, and cells.
    pub(crate) fn free(&self, pages: usize, cells: usize) -> usize {
        pages + cells.saturating_sub(self.useless.load(Ordering::Relaxed))
    }

    /// Whether marking has to begin where so many are free, of so many in all.
    pub(crate) fn is_due(&self, free: usize, total: usize) -> bool {
        let wanted = MARGIN * self.handed_out_meanwhile.load(Ordering::Relaxed);
        let wanted = wanted.max(total / LEAST_FRACTION).min(total / 2);
        free < wanted.min(self.earliest.load(Ordering::Relaxed))
    }
}
