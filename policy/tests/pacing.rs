// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of pacing, which is compiled as a part of mmtk-core otherwise: that crate's own tests are not run.

#![cfg(not(loom))]

#[path = "../mmtk/pacing.rs"]
mod pacing;

use pacing::Pacing;

/// With how many free pages of 1,600 marking begins.
fn begins_below(pacing: &Pacing) -> usize {
    (0..1600).find(|&free| !pacing.is_due(free, 1600)).unwrap()
}

/// A marking beside which so many pages are charged.
fn mark(pacing: &Pacing, beside: usize) {
    pacing.begin(1000);
    pacing.end(1000 + beside);
}

#[test]
fn marking_begins_when_twice_what_was_charged_beside_the_last_one_is_free() {
    let pacing = Pacing::new();
    assert_eq!(begins_below(&pacing), 800, "half of the heap at first");
    for (beside, below) in [(150, 300), (600, 800), (310, 620)] {
        mark(&pacing, beside);
        assert_eq!(begins_below(&pacing), below);
    }
    pacing.note_free(500);
    assert_eq!(begins_below(&pacing), 250, "half of what was left");
}

#[test]
fn a_marking_that_ends_at_once_says_little_of_the_next() {
    let pacing = Pacing::new();
    mark(&pacing, 0);
    assert_eq!(begins_below(&pacing), 100, "a sixteenth of the heap");
    mark(&pacing, 200);
    for below in [200, 100, 100] {
        mark(&pacing, 0);
        assert_eq!(begins_below(&pacing), below);
    }
}
