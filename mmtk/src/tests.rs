// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole collections, on every plan, in a VM that is only just enough of one.
//!
//! A process has one heap, so that each case runs in a process of its own: this test program again,
//! told by a variable which case it is.

mod fake_vm;

use crate::abi::{self, REMEMBERED};
use crate::active_plan::mutator_ref;
use crate::heap::{self, dispatch};
use crate::plans::PLANS;
use crate::trigger::{self, HeapSize};
use crate::OpenJDK;
use fake_vm::{Class, FakeVm, Oop, MIB};
use mmtk::plan::{BarrierSelector, PlanConstraints};
use mmtk::util::heap::GCTriggerPolicy;
use mmtk::{memory_manager, AllocationSemantics};
use std::env;
use std::process::Command;
use std::sync::Arc;

const CASE: &str = "SHARDSWEEP_TEST_CASE";

/// Runs the test of this name once for each plan and both widths of oops.
fn in_processes(test: &str) {
    for plan in &PLANS {
        for width in ["narrow", "wide"] {
            let case = format!("{} {width}", plan.name.to_str().unwrap());
            let output = Command::new(env::current_exe().unwrap())
                .args([&format!("tests::{test}"), "--exact", "--nocapture"])
                .env(CASE, &case)
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{case}: {}\n{text}\n{errors}",
                output.status
            );
            assert!(text.contains("1 passed"), "{case}: the test did not run");
        }
    }
}

/// The case of this process: a VM with a heap of 16 MiB. None in the process that starts the cases.
fn case() -> Option<(FakeVm, &'static PlanConstraints)> {
    let case = env::var(CASE).ok()?;
    let (name, width) = case.split_once(' ').unwrap();
    let plan = PLANS
        .iter()
        .find(|plan| plan.name.to_str() == Ok(name))
        .unwrap();
    let vm = FakeVm::start(name, width == "narrow", 16 * MIB);
    let barrier = plan.constraints.barrier;
    assert_eq!(
        (vm.has_object_barrier(), vm.has_snapshot_barrier()),
        (
            barrier == BarrierSelector::ObjectBarrier,
            barrier == BarrierSelector::SATBBarrier
        )
    );
    Some((vm, plan.constraints))
}

macro_rules! in_case {
    ($test:path) => {
        match case() {
            Some(case) => case,
            None => return in_processes(stringify!($test)),
        }
    };
}

// They use the macro.
#[cfg(feature = "shardsweep")]
mod blocks;
mod marking;

/// A list of nodes with these values, the last one first.
fn make_list(vm: &mut FakeVm, root: usize, values: std::ops::Range<u64>) {
    vm.set_root(root, None);
    for value in values {
        let node = vm.alloc(Class::Node).expect("room for a node");
        vm.set_payload(node, value);
        let rest = vm.root(root);
        vm.set_field(node, 0, rest);
        vm.set_root(root, Some(node));
    }
}

fn check_list(vm: &FakeVm, root: usize, values: std::ops::Range<u64>) {
    let mut at = vm.root(root);
    for value in values.rev() {
        let node = at.expect("a node");
        assert_eq!(vm.payload(node), value);
        at = vm.field(node, 0);
    }
    assert_eq!(at, None);
}

#[test]
fn live_objects_survive() {
    let (mut vm, constraints) = in_case!(live_objects_survive);
    make_list(&mut vm, 0, 0..5_000);
    // Small and large arrays, which hold the list and each other.
    for (root, length) in [(1, 10), (2, 40_000)] {
        let array = vm.alloc_array(length).expect("room for an array");
        for index in 0..length {
            let element = if index % 3 == 0 {
                vm.root(0)
            } else {
                vm.root(1)
            };
            vm.set_element(array, index, element);
        }
        vm.set_root(root, Some(array));
    }
    if constraints.collects_garbage {
        for _ in 0..40 {
            make_list(&mut vm, 3, 0..12_000);
        }
        assert!(vm.collections() > 0, "the garbage did not fill the heap");
        check_list(&vm, 3, 0..12_000);
        let before = vm.collections();
        let expected = before + if vm.is_marking() { 2 } else { 1 };
        vm.collect();
        assert_eq!(vm.collections(), expected);
    }
    check_list(&vm, 0, 0..5_000);
    let (list, small, large) = (vm.root(0), vm.root(1).unwrap(), vm.root(2).unwrap());
    for index in 0..40_000 {
        let expected = if index % 3 == 0 { list } else { Some(small) };
        assert_eq!(vm.element(large, index), expected);
    }
    assert_eq!(vm.element(small, 9), list);
}

/// Allocates so many nodes at a time until there has been one more pause of this kind. Many times what fits into the heap is enough.
fn until_pause(vm: &mut FakeVm, kind: i32, nodes: usize, mut allocate: impl FnMut(&mut FakeVm)) {
    let before = vm.pauses(kind);
    for _ in 0..50_000_000 / nodes {
        if vm.pauses(kind) != before {
            return;
        }
        allocate(vm);
    }
    panic!("there was no pause of kind {kind}");
}

/// Allocates garbage until there has been one more pause of this kind, and nothing after it.
fn allocate_until(vm: &mut FakeVm, kind: i32) {
    until_pause(vm, kind, 1, |vm| {
        vm.alloc(Class::Node).expect("room for a node");
    });
}

/// Allocates garbage until there has been a partial collection.
fn collect_partially(vm: &mut FakeVm) {
    until_pause(vm, abi::PAUSE_PARTIAL, 1_000, |vm| {
        make_list(vm, 15, 0..1_000)
    });
    vm.set_root(15, None);
}

/// Checks that it is no matter how many old objects a thread remembers, and how often each: its buffer may be full in between.
#[test]
fn many_objects_are_remembered() {
    let (mut vm, _) = in_case!(many_objects_are_remembered);
    if !vm.has_object_barrier() {
        return;
    }
    const COUNT: usize = 5 * REMEMBERED / 2;
    let values = |round: u64, index: usize| {
        let first = round * 1_000 + index as u64;
        first..first + 3
    };
    let array = vm.alloc_array(COUNT);
    vm.set_root(0, array);
    for index in 0..COUNT {
        let node = vm.alloc(Class::Node);
        let array = vm.root(0).unwrap();
        vm.set_element(array, index, node);
    }
    vm.collect();
    for round in 0..5 {
        for index in (0..COUNT).flat_map(|index| [index, 0, index]) {
            make_list(&mut vm, 4, values(round, index));
            let list = vm.root(4);
            let node = vm.element(vm.root(0).unwrap(), index).unwrap();
            vm.set_field(node, 0, list);
        }
        vm.set_root(4, None);
        collect_partially(&mut vm);
        for index in 0..COUNT {
            let node = vm.element(vm.root(0).unwrap(), index).unwrap();
            let list = vm.field(node, 0);
            vm.set_root(5, list);
            check_list(&vm, 5, values(round, index));
        }
    }
}

/// Checks that young objects survive partial collections if old ones alone refer to them.
#[test]
fn old_objects_are_remembered() {
    let (mut vm, _) = in_case!(old_objects_are_remembered);
    if !vm.has_object_barrier() {
        return;
    }
    const LENGTH: usize = 50_000;
    for root in 0..2 {
        let node = vm.alloc(Class::Node);
        vm.set_root(root, node);
    }
    for root in 2..4 {
        let array = vm.alloc_array(LENGTH);
        vm.set_root(root, array);
    }
    vm.collect();
    for round in 0..30 {
        let start = round * 100;
        let young = |vm: &mut FakeVm, offset| {
            make_list(vm, 4, start + offset..start + offset + 20);
            let list = vm.root(4);
            vm.set_root(4, None);
            list
        };
        let lists = [0, 20, 40, 60].map(|offset| young(&mut vm, offset));
        let [node, other, array, slots] = [0, 1, 2, 3].map(|root| vm.root(root).unwrap());
        vm.set_field(node, 0, lists[0]);
        vm.set_field_by_vm(other, 1, lists[1]);
        vm.set_element(array, LENGTH - 1, lists[2]);
        vm.fill_elements(slots, LENGTH / 2, 3, lists[3]);
        collect_partially(&mut vm);
        let [node, other, array, slots] = [0, 1, 2, 3].map(|root| vm.root(root).unwrap());
        let found = [
            vm.field(node, 0),
            vm.field(other, 1),
            vm.element(array, LENGTH - 1),
            vm.element(slots, LENGTH / 2 + 2),
        ];
        for (list, first) in found.into_iter().zip([0, 20, 40, 60]) {
            vm.set_root(5, list);
            check_list(&vm, 5, start + first..start + first + 20);
        }
        vm.set_root(5, None);
    }
}

/// Checks the barriers of a thread without a mutator under mmtk's stress test, in which mutators have no lists.
#[test]
fn threads_without_a_mutator_have_barriers_under_stress() {
    if env::var(CASE).is_ok() {
        env::set_var("MMTK_STRESS_FACTOR", (4 * MIB).to_string());
    }
    let (mut vm, _) = in_case!(threads_without_a_mutator_have_barriers_under_stress);
    let array = vm.alloc_array(20);
    vm.set_root(0, array);
    make_list(&mut vm, 1, 0..20);
    let (array, list) = (vm.root(0).unwrap(), vm.root(1));
    vm.set_element_by_vm(array, 7, list);
    if vm.has_snapshot_barrier() && !vm.is_marking() {
        allocate_until(&mut vm, abi::PAUSE_INITIAL_MARK);
    }
    vm.collect();
    make_list(&mut vm, 2, 0..20);
    let (array, list) = (vm.root(0).unwrap(), vm.root(2));
    vm.set_element_by_vm(array, 7, list);
    vm.set_root(2, None);
    vm.collect();
    let element = vm.element(vm.root(0).unwrap(), 7);
    vm.set_root(3, element);
    check_list(&vm, 3, 0..20);
}

/// Checks that weak roots are cleared if a partial collection frees what they refer to, whatever its size.
#[test]
fn partial_collections_clear_weak_roots() {
    let (mut vm, _) = in_case!(partial_collections_clear_weak_roots);
    if !vm.has_object_barrier() {
        return;
    }
    for length in [10, 50_000] {
        let kept = vm.alloc_array(length);
        vm.set_root(0, kept);
        let dropped = vm.alloc_array(length);
        // The allocation may have moved the first.
        vm.set_weak_roots(vm.root(0), dropped);
        collect_partially(&mut vm);
        assert_eq!(vm.weak_roots(), [vm.root(0), None], "arrays of {length}");
        // Both are old now.
        collect_partially(&mut vm);
        assert_eq!(vm.weak_roots(), [vm.root(0), None], "arrays of {length}");
    }
}

#[test]
fn buffers_are_disjoint_memory() {
    let (mut vm, _) = in_case!(buffers_are_disjoint_memory);
    let mut buffers = Vec::new();
    for _ in 0..20 {
        let object = vm.alloc(Class::Node).unwrap();
        let end = object + Class::Node.bytes();
        buffers.push(object..end);
        let bytes = vm.take_buffer(end);
        if bytes != 0 {
            buffers.push(end..end + bytes);
        }
        assert_eq!(vm.take_buffer(end), 0, "it is taken");
    }
    assert_eq!(
        vm.collections(),
        0,
        "what is not in a root may be used again"
    );
    buffers.sort_by_key(|buffer| buffer.start);
    for pair in buffers.windows(2) {
        assert!(pair[0].end <= pair[1].start, "{pair:x?}");
        assert!(vm.is_in_heap(pair[0].start) && vm.is_in_heap(pair[0].end - 1));
    }
    assert_eq!(vm.gives_buffers(), buffers.len() > 20);
    assert!(!vm.is_in_heap(8) && !vm.is_in_heap(usize::MAX));
}

/// Checks that memory can be used up, and used again when it is free.
#[test]
fn out_of_memory_is_null() {
    let (mut vm, constraints) = in_case!(out_of_memory_is_null);
    for length in [16 << 20, 1 << 30, i32::MAX as usize] {
        assert_eq!(vm.alloc_array(length), None, "larger than the heap");
    }
    assert!(vm.collections() < 10);
    // mmtk's mark-compact keeps its memory when not a single object is alive, which no VM has.
    make_list(&mut vm, 1, 0..1);
    for length in [5_000, 100_000] {
        vm.set_root(0, None);
        while let Some(array) = vm.alloc_array(length) {
            let rest = vm.root(0);
            vm.set_element(array, 0, rest);
            vm.set_root(0, Some(array));
            assert!(vm.used_bytes() <= 16 * MIB);
        }
        assert!(vm.root(0).is_some() || !constraints.collects_garbage);
        vm.set_root(0, None);
    }
    assert!(vm.alloc(Class::Node).is_some() || !constraints.collects_garbage);
}

#[test]
fn references_end_as_java_says() {
    let (mut vm, constraints) = in_case!(references_end_as_java_says);
    if !constraints.collects_garbage {
        return;
    }
    make_list(&mut vm, 0, 0..2);
    let kept = |vm: &FakeVm| vm.root(0);
    // References to kept objects live in roots 1 to 4, to dropped ones in 5 to 8.
    let classes = [Class::Soft, Class::Weak, Class::Final, Class::Phantom];
    for (index, class) in classes.into_iter().enumerate() {
        let live = vm.alloc_reference(class, kept).unwrap();
        vm.set_root(1 + index, Some(live));
        make_list(&mut vm, 9, 70..72);
        let dead = vm.alloc_reference(class, |vm| vm.root(9)).unwrap();
        vm.set_root(5 + index, Some(dead));
        vm.set_root(9, None);
    }
    // One whose referent is kept by what is finalizable, and is finalized before it is cleared.
    let finalizable = vm.referent(vm.root(7).unwrap());
    let phantom = vm.alloc_reference(Class::Phantom, |_| finalizable).unwrap();
    vm.set_root(9, Some(phantom));
    vm.set_weak_roots(kept(&vm), finalizable);

    vm.set_soft_policy(false);
    vm.collect();
    let roots: Vec<Oop> = (1..10).map(|root| vm.root(root).unwrap()).collect();
    for live in &roots[..4] {
        assert_eq!(
            vm.referent(*live),
            kept(&vm),
            "a reached referent, at its new address"
        );
    }
    let soft = vm
        .referent(roots[4])
        .expect("a young soft reference is kept");
    assert_eq!(vm.payload(soft), 71);
    assert_eq!((vm.referent(roots[5]), vm.referent(roots[7])), (None, None));
    let finalizable = vm.referent(roots[6]).expect("finalizable objects are kept");
    assert_eq!(vm.payload(vm.field(finalizable, 0).unwrap()), 70);
    assert_eq!(vm.next(roots[6]), Some(roots[6]), "it is not active");
    assert_eq!(vm.referent(roots[8]), Some(finalizable));
    assert_eq!(vm.weak_roots(), [kept(&vm), Some(finalizable)]);
    let mut expected = vec![roots[5], roots[6], roots[7]];
    expected.sort_unstable();
    assert_eq!(vm.take_pending(), expected);

    // The finalizer has run: its reference is dropped.
    vm.set_root(7, None);
    vm.set_soft_policy(true);
    vm.collect();
    assert_eq!(
        vm.referent(vm.root(5).unwrap()),
        None,
        "all soft references are cleared"
    );
    assert_eq!(vm.referent(vm.root(1).unwrap()), kept(&vm));
    assert_eq!(vm.referent(vm.root(9).unwrap()), None);
    assert_eq!(vm.weak_roots(), [kept(&vm), None]);
    let mut expected = vec![vm.root(5).unwrap(), vm.root(9).unwrap()];
    expected.sort_unstable();
    assert_eq!(vm.take_pending(), expected);
    check_list(&vm, 0, 0..2);
}

/// So many references that all workers share them end as a few do, each once.
#[test]
fn workers_share_many_references() {
    let (mut vm, constraints) = in_case!(workers_share_many_references);
    if !constraints.collects_garbage {
        return;
    }
    const COUNT: usize = 4000;
    for class in [Class::Weak, Class::Final, Class::Phantom] {
        let array = vm.alloc_array(COUNT);
        vm.set_root(0, array);
        let array = vm.alloc_array(COUNT);
        vm.set_root(1, array);
        for index in 0..COUNT {
            make_list(&mut vm, 2, index as u64..index as u64 + 1);
            let reference = vm.alloc_reference(class, |vm| vm.root(2));
            let (references, kept) = (vm.root(0).unwrap(), vm.root(1).unwrap());
            vm.set_element(references, index, Some(reference.unwrap()));
            if index % 2 == 0 {
                let referent = vm.root(2);
                vm.set_element(kept, index, referent);
            }
            vm.set_root(2, None);
        }
        // Marking that runs beside the thread keeps what is new.
        vm.collect();
        vm.collect();
        let references = vm.root(0).unwrap();
        let mut expected = Vec::new();
        for index in 0..COUNT {
            let reference = vm.element(references, index).unwrap();
            let referent = vm.referent(reference);
            let is_kept = index % 2 == 0;
            if is_kept || class == Class::Final {
                assert_eq!(vm.payload(referent.unwrap()), index as u64);
            } else {
                assert_eq!(referent, None);
            }
            if !is_kept {
                expected.push(reference);
            }
        }
        expected.sort_unstable();
        assert_eq!(vm.take_pending(), expected);
    }
}

/// An object keeps the handles of its class loader data alive, which are visited once a scan.
#[test]
fn class_loader_data_lives_as_long_as_its_objects() {
    let (mut vm, constraints) = in_case!(class_loader_data_lives_as_long_as_its_objects);
    if !constraints.collects_garbage {
        return;
    }
    make_list(&mut vm, 0, 0..100);
    vm.set_handle(vm.root(0));
    vm.set_root(0, None);
    for root in 1..4 {
        let object = vm.alloc_loaded();
        vm.set_root(root, object);
    }
    for _ in 0..3 {
        make_list(&mut vm, 4, 0..5_000);
        vm.collect();
        vm.set_root(5, vm.handle());
        check_list(&vm, 5, 0..100);
        vm.set_root(5, None);
        let scans = vm.take_visits();
        // A list may have filled the heap once more; mark-compact scans twice.
        assert!((1..=4).contains(&scans), "{scans} visits");
    }
    // A finalizer can still reach the objects: so do what processes references.
    for root in 1..4 {
        vm.set_root(root, None);
    }
    let object = vm.alloc_loaded();
    vm.set_root(1, object);
    let finalizable = vm.alloc_reference(Class::Final, |vm| vm.root(1)).unwrap();
    vm.set_root(2, Some(finalizable));
    vm.set_root(1, None);
    vm.collect();
    assert!(vm.take_visits() >= 1);
    vm.set_root(5, vm.handle());
    check_list(&vm, 5, 0..100);
    // Nothing reaches them now, so that nothing updates the handle.
    vm.set_root(5, None);
    vm.set_root(2, None);
    vm.take_pending();
    vm.set_weak_roots(vm.handle(), None);
    vm.set_handle(None);
    vm.collect();
    assert_eq!(vm.take_visits(), 0);
    assert_eq!(vm.weak_roots(), [None, None]);
}

/// A larger heap helps where there are not enough pages. It does not where addresses have run out.
#[test]
fn the_heap_can_grow_where_pages_are_waited_for() {
    let (_vm, constraints) = in_case!(the_heap_can_grow_where_pages_are_waited_for);
    if !constraints.collects_garbage {
        return;
    }
    fn check<const COMPRESSED: bool>() {
        let policy: &dyn GCTriggerPolicy<OpenJDK<COMPRESSED>> = &HeapSize::new();
        assert!(!policy.can_heap_size_grow());
        policy.on_pending_allocation(policy.get_current_heap_size_in_pages() + 1);
        assert!(policy.can_heap_size_grow());
        trigger::forget_pending();
    }
    dispatch!(check());
}

/// A thread that ends leaves nothing of its allocators behind: what they share is counted.
#[test]
fn threads_leave_no_allocators() {
    let (mut vm, constraints) = in_case!(threads_leave_no_allocators);
    if !constraints.collects_garbage {
        return;
    }
    fn users<const COMPRESSED: bool>(mutator: abi::Mutator) -> usize {
        let mmtk = heap::mmtk::<COMPRESSED>();
        let selector = memory_manager::get_allocator_mapping(mmtk, AllocationSemantics::Default);
        // SAFETY: the mutator of this thread, and an allocator of its plan.
        let allocator = unsafe { mutator_ref::<COMPRESSED>(mutator).allocator(selector) };
        Arc::strong_count(&allocator.get_context().options)
    }
    // After a collection all workers are there, which use it too.
    make_list(&mut vm, 0, 0..1);
    vm.collect();
    let mutator = vm.mutator();
    let before = dispatch!(users(mutator));
    vm.run_thread();
    assert_eq!(dispatch!(users(mutator)), before);
}

#[test]
fn heap_info_has_a_line_for_each_space() {
    let (mut vm, _) = in_case!(heap_info_has_a_line_for_each_space);
    make_list(&mut vm, 0, 0..1000);
    let text = vm.heap_info();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines.len() >= 3, "{text}");
    assert!(lines.iter().all(|line| line.starts_with(' ')), "{text}");
    assert!(
        lines
            .iter()
            .any(|line| line.trim_start().starts_with("los ")),
        "{text}"
    );
    let total = lines.last().unwrap();
    let used = vm.used_bytes() / 1024;
    assert!(
        used > 0 && total.contains(&format!("{used}K used of ")),
        "{text}"
    );
}
