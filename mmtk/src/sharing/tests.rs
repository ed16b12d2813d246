// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers that come in time, and too late.

use super::*;
use std::thread;
use std::time::Duration;

#[test]
fn helpers_that_have_begun_are_waited_for() {
    let helpers = Helpers::new();
    assert!(helpers.enter());
    assert!(helpers.enter());
    helpers.leave(1);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(50));
            helpers.leave(2);
        });
        assert_eq!(helpers.join(), [1, 2]);
    });
}

#[test]
fn helpers_that_come_late_are_sent_away() {
    let helpers = Helpers::<()>::new();
    assert!(helpers.join().is_empty());
    assert!(!helpers.enter());
    assert!(helpers.join().is_empty());
}
