// SPDX-License-Identifier: MIT OR Apache-2.0
//! When marking beside the mutators has to begin, to be over before the heap is full.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Marking begins when so many times what is likely to be charged beside it is free, ...
const MARGIN: usize = 2;
/// ... or one part in so many of the heap.
pub(crate) const LEAST_FRACTION: usize = 16;
/// Pages that are likely to be charged, of which nothing is known yet: more than there are.
const UNKNOWN: usize = usize::MAX / MARGIN;

/// What the last collections say of the next. All numbers are of pages.
pub(crate) struct Pacing {
    /// Charged when marking began.
    charged_before: AtomicUsize,
    /// Likely to be charged while it runs.
    charged_beside: AtomicUsize,
    /// Free after the last collection.
    free_after: AtomicUsize,
}

impl Pacing {
    pub(crate) fn new() -> Self {
        Pacing {
            charged_before: AtomicUsize::new(0),
            charged_beside: AtomicUsize::new(UNKNOWN),
            free_after: AtomicUsize::new(usize::MAX),
        }
    }

    /// Marking begins while so many are charged.
    pub(crate) fn begin(&self, charged: usize) {
        self.charged_before.store(charged, Ordering::Relaxed);
    }

    /// Marking has ended. Where it did so in the pause in which it began, that says little of the next time.
    pub(crate) fn end(&self, charged: usize) {
        let beside = charged.saturating_sub(self.charged_before.load(Ordering::Relaxed));
        let likely = match self.charged_beside.load(Ordering::Relaxed) {
            UNKNOWN => beside,
            last => beside.max(last / 2),
        };
        self.charged_beside.store(likely, Ordering::Relaxed);
    }

    /// A collection has left so many free.
    pub(crate) fn note_free(&self, free: usize) {
        self.free_after.store(free, Ordering::Relaxed);
    }

    /// Whether marking has to begin where so many are free, of so many in all.
    pub(crate) fn is_due(&self, free: usize, total: usize) -> bool {
        let wanted = MARGIN * self.charged_beside.load(Ordering::Relaxed);
        let wanted = wanted.max(total / LEAST_FRACTION).min(total / 2);
        free < wanted.min(self.free_after.load(Ordering::Relaxed) / 2)
    }
}
