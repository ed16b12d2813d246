// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of our mark-sweep space, as `jcmd GC.heap_info` shows it.

use super::*;
use crate::{barrier, entry};
use std::ffi::c_void;
use std::ptr;

/// Whether the case is one of our mark-sweep without a barrier.
fn is_mark_sweep() -> bool {
    env::var(CASE).unwrap().starts_with("MarkSweep ")
}

/// The number before `unit` in the line about blocks.
fn kibibytes(text: &str, unit: &str) -> usize {
    let line = text.lines().find(|line| line.contains(" blocks of "));
    let line = line.unwrap_or_else(|| panic!("no line about blocks in:\n{text}"));
    let before = line.split(&format!("K {unit}")).next().unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn what_is_not_charged_is_not_resident() {
    let (mut vm, _) = in_case!(blocks::what_is_not_charged_is_not_resident);
    if !is_mark_sweep() {
        return;
    }
    // Every twentieth list survives until the end, so that many pages hold something live.
    for root in 0..10 {
        for _ in 0..20 {
            make_list(&mut vm, root, 0..2_000);
        }
    }
    let full = vm.heap_info();
    for root in 3..10 {
        vm.set_root(root, None);
    }
    vm.collect();
    let text = vm.heap_info();
    let [live, charged, resident] =
        ["live", "charged", "resident"].map(|unit| kibibytes(&text, unit));
    assert!(0 < live && live <= charged, "{text}");
    assert!(charged < kibibytes(&full, "charged"), "{full}{text}");
    assert!(resident <= charged + 1024, "{text}");
    for root in 0..3 {
        check_list(&vm, root, 0..2_000);
    }
}

/// A thread is charged for a part of what is free at a time, which is the less the more threads there are. The mutator of threads that
/// have none is no thread.
#[test]
fn a_mutator_without_a_thread_has_no_share() {
    let (mut vm, _) = in_case!(blocks::a_mutator_without_a_thread_has_no_share);
    if !is_mark_sweep() {
        return;
    }
    fn remember<const COMPRESSED: bool>(array: Oop) {
        let array = entry::object(array as *const c_void);
        // SAFETY: no mutator is passed.
        unsafe { barrier::remember_object::<COMPRESSED>(ptr::null_mut(), array) };
    }
    // Of the smallest heap, so much is left that a part is less than a block.
    let array = vm.alloc_array(1_200_000 / fake_vm::field_bytes());
    vm.set_root(0, array);
    dispatch!(remember(array.unwrap()));
    vm.collect();
    let (mut used, end) = (vm.used_bytes(), vm.total_bytes());
    let (free, mut most) = (end - used, 0);
    while end - used > free / 2 {
        vm.alloc(Class::Node).expect("room for a node");
        most = most.max(vm.used_bytes() - used);
        used = vm.used_bytes();
    }
    assert!((free / 24..free / 12).contains(&most), "{most} of {free}");
}

/// Half of the larger cells are free when all pages are charged: they serve smaller objects before a collection does.
#[test]
fn free_cells_of_the_next_bin_serve_before_a_collection() {
    let (mut vm, _) = in_case!(blocks::free_cells_of_the_next_bin_serve_before_a_collection);
    if !is_mark_sweep() {
        return;
    }
    const LARGE: usize = 50_000;
    let alloc = |vm: &mut FakeVm, bytes: usize| {
        let length = (bytes - Class::Array.bytes()) / fake_vm::field_bytes();
        vm.alloc_array(length).expect("room for a small array")
    };
    let all = vm.alloc_array(LARGE).expect("room for a large array");
    vm.set_root(0, Some(all));
    for index in 0..LARGE {
        let large = alloc(&mut vm, 56);
        vm.set_element(all, index, Some(large));
    }
    for index in (0..LARGE).step_by(2) {
        vm.set_element(all, index, None);
    }
    vm.collect();
    let free = vm.total_bytes() - 1024 * kibibytes(&vm.heap_info(), "charged");
    let (before, mut bytes) = (vm.collections(), 0);
    while vm.collections() == before {
        alloc(&mut vm, 48);
        bytes += 48;
    }
    assert!(bytes > free + LARGE / 4 * 48, "{bytes} bytes of {free}");
}
