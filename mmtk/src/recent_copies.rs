// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread has copied into lately. mmtk's generational plans keep a note of the slots of each array copy until the next collection.
//! A program that moves elements of the same arrays again and again, and allocates nothing, would fill the memory with such notes.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of pauses so far. Each uses up all notes.
static PAUSES: AtomicUsize = AtomicUsize::new(0);

/// Number of sets of ranges.
const SETS: usize = 512;
/// Ranges in a set: in a line, one array may end and the next begin.
const WAYS: usize = 2;
/// log2 of the bytes of a line. Short ranges that begin in one are in one set.
const LOG_LINE_BYTES: u32 = 7;
/// log2 of the same for long ranges, which are of long arrays.
const LOG_LONG_LINE_BYTES: u32 = 16;
/// Bytes of a long range.
const LONG: usize = 4096;

/// Ranges of addresses that were noted since the last pause: not all, but those of few arrays for sure.
struct Recent {
    pauses: usize,
    noted: [[Range<usize>; WAYS]; SETS],
}

impl Recent {
    const fn new() -> Self {
        Recent {
            pauses: 0,
            noted: [const { [const { 0..0 }; WAYS] }; SETS],
        }
    }

    /// Whether all of `slots` was noted since the last of so many pauses. If not, the caller is about to note it.
    fn covers(&mut self, slots: Range<usize>, pauses: usize) -> bool {
        if self.pauses != pauses {
            *self = Recent::new();
            self.pauses = pauses;
        }
        let log_line = if slots.len() < LONG {
            LOG_LINE_BYTES
        } else {
            LOG_LONG_LINE_BYTES
        };
        let set = &mut self.noted[(slots.start >> log_line) % SETS];
        let touches = |noted: &Range<usize>| slots.start <= noted.end && noted.start <= slots.end;
        match set.iter_mut().find(|noted| touches(noted)) {
            Some(noted) if noted.start <= slots.start && slots.end <= noted.end => return true,
            Some(noted) => *noted = noted.start.min(slots.start)..noted.end.max(slots.end),
            None => {
                set.rotate_right(1);
                set[0] = slots;
            }
        }
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
        assert!(!recent.covers(8100..8400, 1));
        assert!(recent.covers(8100..8400, 1));
        assert!(recent.covers(8110..8200, 1));
        assert!(!recent.covers(8080..8200, 1));
        assert!(recent.covers(8080..8400, 1));
        assert!(!recent.covers(8064..8072, 1), "there is a gap behind it");
        assert!(recent.covers(8064..8072, 1));
        assert!(recent.covers(8080..8400, 1), "there is room for two");
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

    #[test]
    fn so_is_a_long_one_whose_end_moves() {
        let mut recent = Recent::new();
        let noted = (0..100_000)
            .map(|turn| turn * 7919 % 100)
            .filter(|from| !recent.covers(1 << 20..(1 << 20) + 8192 * (from + 1), 1))
            .count();
        assert!(noted <= 100, "{noted} notes");
    }
}
