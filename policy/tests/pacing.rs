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

/// A marking beside which so many pages are handed out.
fn mark(pacing: &Pacing, beside: usize) {
    pacing.begin(1000, 0);
    pacing.end(1000 + beside, false);
}

#[test]
fn marking_begins_when_twice_what_was_handed_out_beside_the_last_one_is_free() {
    let pacing = Pacing::new();
    assert_eq!(begins_below(&pacing), 800, "half of the heap at first");
    for (beside, below) in [(150, 300), (600, 800), (310, 620)] {
        mark(&pacing, beside);
        assert_eq!(begins_below(&pacing), below);
    }
    pacing.note_free(500, 0);
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

#[test]
fn a_marking_that_ends_late_begins_earlier_the_next_time() {
    let pacing = Pacing::new();
    pacing.begin(0, 0);
    pacing.end(150, true);
    assert_eq!(begins_below(&pacing), 600);
}

/// How many of 1024 cells that a collection has left are of use.
fn useful(pacing: &Pacing) -> usize {
    pacing.note_free(0, 1024);
    pacing.free(0, 1024)
}

#[test]
fn cells_are_of_use_that_were_used_before_marking_began() {
    let pacing = Pacing::new();
    assert_eq!(useful(&pacing), 0, "nothing is known");
    for (left, of_use) in [(768, 256), (512, 288), (512, 316)] {
        pacing.begin(0, left);
        assert_eq!(useful(&pacing), of_use, "the first time tells most");
    }
    pacing.begin(0, 1024);
    assert_eq!(useful(&pacing), 316, "pages were used up first");
    pacing.note_free(7, 2048);
    assert_eq!(pacing.free(7, 2048), 7 + 2 * 316, "of all a part");
}

#[test]
fn cells_that_are_left_in_a_full_heap_are_of_no_use() {
    let pacing = Pacing::new();
    useful(&pacing);
    (0..20).for_each(|_| pacing.begin(0, 0));
    assert_eq!(useful(&pacing), 1024);
    pacing.note_full(768);
    assert_eq!(useful(&pacing), 256);
    pacing.note_full(512);
    assert_eq!(useful(&pacing), 256, "the least that was of use");
}
