// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread has copied into lately. mmtk keeps a note of the slots of each array copy until the next collection. A program
//! that moves elements of the same arrays again and again, and allocates nothing, would fill the memory with such notes.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of pauses so far. Each uses up all notes.
static PAUSES: AtomicUsize = AtomicUsize::new(0);

/// Number of ranges that are kept, a power of two.
const RANGES: usize = 64;
/// log2 of the bytes whose ranges share a place: arrays are seldom longer.
const LOG_BYTES: u32 = 12;

/// Ranges of addresses that were noted since the last pause.
struct Recent {
    pauses: usize,
    noted: [Range<usize>; RANGES],
}

impl Recent {
    const fn new() -> Self {
        Recent {
            pauses: 0,
            noted: [const { 0..0 }; RANGES],
        }
    }

    /// Whether all of `slots` was noted since the last of so many pauses. If not, the caller is about to note it.
    fn covers(&mut self, slots: Range<usize>, pauses: usize) -> bool {
        if self.pauses != pauses {
            *self = Recent::new();
            self.pauses = pauses;
        }
        let noted = &mut self.noted[(slots.start >> LOG_BYTES) % RANGES];
        if noted.start <= slots.start && slots.end <= noted.end {
            return true;
        }
        let adjoins = slots.start <= noted.end && noted.start <= slots.end;
        *noted = if adjoins {
            noted.start.min(slots.start)..noted.end.max(slots.end)
        } else {
            slots
        };
        false
    }
}

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new(Recent::new()) };
}

/// Whether the calling thread has noted all of these addresses since the last pause. If not, it is about to.
pub fn cover(slots: Range<usize>) -> bool {
    let pauses = PAUSES.load(Ordering::Relaxed);
    RECENT.with_borrow_mut(|recent| recent.covers(slots, pauses))
}

/// Has each thread forget what it has noted. With mutators stopped, in each pause.
pub fn forget() {
    PAUSES.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_covered() {
        let mut recent = Recent::new();
        assert!(!recent.covers(8000..8400, 1));
        assert!(recent.covers(8000..8400, 1));
        assert!(recent.covers(8100..8200, 1));
        assert!(!recent.covers(7900..8200, 1));
        assert!(recent.covers(7900..8400, 1));
        assert!(!recent.covers(8500..8600, 1), "there is a gap before it");
        assert!(
            !recent.covers(8300..8450, 1),
            "another range took the place"
        );
    }

    #[test]
    fn a_pause_uses_notes_up() {
        let mut recent = Recent::new();
        assert!(!recent.covers(8000..8400, 1));
        assert!(!recent.covers(8000..8400, 2));
    }

    #[test]
    fn an_array_is_covered_in_the_end() {
        let mut recent = Recent::new();
        let noted = (0..100_000)
            .map(|turn| turn * 7919 % 100)
            .filter(|from| !recent.covers(40_960 + 8 * from..41_760, 1))
            .count();
        assert!(noted <= 100, "{noted} notes");
    }
}
