// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of pacing, which is compiled as a part of mmtk-core otherwise: that crate's own tests are not run.

#![cfg(not(loom))]

#[path = "../mmtk/pacing.rs"]
mod pacing;

use pacing::Pacing;

/// Pages of the heap.
const TOTAL: usize = 1600;

/// With how many free pages marking begins.
fn begins_below(pacing: &Pacing) -> usize {
    (0..TOTAL)
        .find(|&free| !pacing.is_due(free, TOTAL))
        .unwrap()
}

/// A marking beside which so many pages are handed out.
fn mark(pacing: &Pacing, beside: usize) {
    pacing.begin(1000, 0);
    pacing.end(1000 + beside, false);
}

#[test]
fn marking_begins_when_twice_what_was_handed_out_beside_the_last_one_is_free() {
    let pacing = Pacing::new();
    assert_eq!(begins_below(&pacing), 800, "half of the heap at first");
    for (beside, below) in [(150, 300), (300, 600), (230, 460), (600, 800)] {
        mark(&pacing, beside);
        assert_eq!(begins_below(&pacing), below);
    }
    pacing.note_free(500, 0, false);
    assert_eq!(begins_below(&pacing), 250, "half of what was left");
    pacing.note_free(500, 0, true);
    assert_eq!(begins_below(&pacing), 375, "all but a quarter");
}

#[test]
fn a_marking_that_ends_at_once_says_little_of_the_next() {
    let pacing = Pacing::new();
    mark(&pacing, 0);
    assert_eq!(begins_below(&pacing), 100, "a sixteenth of the heap");
    mark(&pacing, 200);
    for below in [300, 226, 170, 128, 100, 100] {
        mark(&pacing, 0);
        assert_eq!(begins_below(&pacing), below);
    }
}

#[test]
fn a_marking_that_ends_late_begins_earlier_the_next_time() {
    let pacing = Pacing::new();
    pacing.begin(0, 0);
    pacing.end(150, true);
    assert_eq!(begins_below(&pacing), 600);
}

/// How many of 1000 cells are of use.
fn useful(pacing: &Pacing) -> usize {
    pacing.free(0, 1000)
}

#[test]
fn cells_that_are_left_in_a_full_heap_are_of_no_use() {
    let pacing = Pacing::new();
    assert_eq!(useful(&pacing), 1000, "nothing is known");
    for (left, of_use) in [(400, 600), (800, 200), (500, 200)] {
        pacing.note_full(left);
        assert_eq!(useful(&pacing), of_use, "the least that was of use");
    }
    assert_eq!(pacing.free(7, 2000), 7 + 1200, "other cells are");
}

#[test]
fn cells_are_of_use_that_were_used_before_marking_began() {
    let pacing = Pacing::new();
    pacing.note_full(800);
    for (left, of_use) in [(1000, 200), (480, 360), (480, 440)] {
        pacing.begin(0, left);
        assert_eq!(useful(&pacing), of_use);
    }
}
