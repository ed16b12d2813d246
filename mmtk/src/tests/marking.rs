// SPDX-License-Identifier: MIT OR Apache-2.0
//! Concurrent marking, on the plans that do it.

use super::*;

/// Checks that what is reachable when marking begins survives, wherever it is moved to while marking runs; and what a weak
/// reference gives.
#[test]
fn a_snapshot_survives() {
    let (mut vm, _) = in_case!(marking::a_snapshot_survives);
    if !vm.has_snapshot_barrier() {
        return;
    }
    const LISTS: usize = 200;
    for round in 0..12u64 {
        let values = |list: usize| {
            let first = round * 1_000_000 + list as u64 * 1000;
            first..first + 20
        };
        let array = vm.alloc_array(LISTS);
        vm.set_root(0, array);
        for list in 0..LISTS {
            make_list(&mut vm, 1, values(list));
            let (array, head) = (vm.root(0).unwrap(), vm.root(1));
            vm.set_element(array, list, head);
        }
        let weak = vm.alloc_reference(Class::Weak, |vm| vm.element(vm.root(0).unwrap(), 0));
        vm.set_root(2, weak);
        vm.set_root(1, None);
        if !vm.is_marking() {
            allocate_until(&mut vm, abi::PAUSE_INITIAL_MARK);
        }
        // Each list goes to a new node, of which nobody is told; by stores, by the VM's own, and by a copy.
        let moved = vm.alloc_array(LISTS);
        vm.set_root(3, moved);
        for list in 0..LISTS {
            let node = vm.alloc(Class::Node).unwrap();
            let (array, moved) = (vm.root(0).unwrap(), vm.root(3).unwrap());
            let head = vm.element(array, list);
            vm.set_element(moved, list, Some(node));
            let by_vm = list % 3 == 1;
            if by_vm {
                vm.set_field_by_vm(node, 0, head);
            } else {
                vm.set_field(node, 0, head);
            }
            if list % 3 == 2 {
                vm.fill_elements(array, list, 1, None);
            } else {
                vm.set_element(array, list, None);
            }
        }
        let referent = vm.get_referent(vm.root(2).unwrap());
        let node = vm.alloc(Class::Node).unwrap();
        vm.set_field(node, 1, referent);
        vm.set_root(4, Some(node));
        vm.set_root(0, None);
        if vm.is_marking() {
            allocate_until(&mut vm, abi::PAUSE_FINAL_MARK);
        }
        for list in 0..LISTS {
            let node = vm.element(vm.root(3).unwrap(), list).unwrap();
            vm.set_root(1, vm.field(node, 0));
            check_list(&vm, 1, values(list));
        }
        assert_eq!(vm.field(vm.root(4).unwrap(), 1), referent);
        assert_eq!(vm.referent(vm.root(2).unwrap()), referent);
    }
}

/// Objects that [`lost_objects`] moves.
const MOVED: usize = 100;

/// How many of these objects are not marked, though they were reachable when marking began: `route` says how they are overwritten where
/// they were, or else loaded, or told of in the final mark. Marking comes to their old places behind the handle, which waits until they are moved.
/// Nothing refers to the new places but this function, so that nobody follows what may be dangling. None: another
/// collection has freed them since.
fn lost_objects(vm: &mut FakeVm, route: usize) -> Option<usize> {
    let loader = vm.alloc_loaded();
    vm.set_root(0, loader);
    let array = vm.alloc_array(MOVED);
    vm.set_handle(array);
    for index in 0..MOVED {
        make_list(vm, 1, 0..1);
        let object = match route {
            3 => vm.alloc_reference(Class::Weak, |vm| vm.root(1)),
            _ => vm.root(1),
        };
        vm.set_element(vm.handle().unwrap(), index, object);
        vm.set_root(1, None);
    }
    vm.hold_handle(true);
    allocate_until(vm, abi::PAUSE_INITIAL_MARK);
    let array = vm.handle().unwrap();
    let mut moved = Vec::new();
    for index in 0..MOVED {
        let object = vm.element(array, index).unwrap();
        match route {
            0 => vm.set_element(array, index, None),
            1 => vm.set_element_by_vm(array, index, None),
            2 => vm.fill_elements(array, index, 1, None),
            4 => vm.tell_late_of_element(array, index),
            _ => {
                moved.extend(vm.get_referent(object));
                continue;
            }
        }
        moved.push(object);
    }
    let pauses = vm.collections();
    vm.hold_handle(false);
    allocate_until(vm, abi::PAUSE_FINAL_MARK);
    let is_last = vm.collections() == pauses + 1;
    let lost = moved.iter().filter(|&&object| !vm.was_reached(object));
    let lost = is_last.then_some(lost.count());
    vm.set_root(0, None);
    vm.set_handle(None);
    vm.collect();
    lost
}

/// Checks that no way to write or load goes without the barrier, by doing without it.
#[test]
fn objects_are_lost_without_the_snapshot_barrier() {
    let (mut vm, _) = in_case!(marking::objects_are_lost_without_the_snapshot_barrier);
    if !vm.has_snapshot_barrier() {
        return;
    }
    vm.collect();
    for route in 0..5 {
        for omits_barrier in [true, false] {
            vm.omits_barrier = omits_barrier;
            // Where workers are slow, the heap may be full before marking is over.
            let lost = (0..50).find_map(|_| lost_objects(&mut vm, route));
            let expected = if omits_barrier { MOVED } else { 0 };
            assert_eq!(
                lost,
                Some(expected),
                "route {route}, without: {omits_barrier}"
            );
        }
    }
}

/// Has marking begin. If the handle `is_held`, as it then stays, the initial pause does not mark all.
#[cfg(feature = "shardsweep")]
fn begin_marking(vm: &mut FakeVm, is_held: bool) {
    vm.hold_handle(is_held);
    let loader = vm.alloc_loaded();
    vm.set_root(0, loader);
    allocate_until(vm, abi::PAUSE_INITIAL_MARK);
}

/// Checks that marking comes to its end while the program allocates nothing.
#[cfg(feature = "shardsweep")]
#[test]
fn marking_ends_beside_an_idle_program() {
    let (mut vm, _) = in_case!(marking::marking_ends_beside_an_idle_program);
    if !vm.has_snapshot_barrier() {
        return;
    }
    // Marking may be over before the allocation returns that found it due: then this has to begin again.
    let ran_concurrently = (0..50).any(|_| {
        let before = vm.pauses(abi::PAUSE_FINAL_MARK);
        begin_marking(&mut vm, true);
        let ran_concurrently = vm.pauses(abi::PAUSE_FINAL_MARK) == before;
        vm.hold_handle(false);
        if ran_concurrently {
            assert!(vm.wait_for_pause(), "there was no final mark");
            assert_eq!(vm.pauses(abi::PAUSE_FINAL_MARK), before + 1);
        }
        ran_concurrently
    });
    assert!(ran_concurrently, "concurrent marking never ran");
}

/// Checks that the final mark follows the initial one at once where that has marked all, and only there.
#[cfg(feature = "shardsweep")]
#[test]
fn a_final_mark_follows_where_nothing_is_left() {
    let (mut vm, constraints) = in_case!(marking::a_final_mark_follows_where_nothing_is_left);
    // The crate's own plan marks nothing in that pause.
    if !vm.has_snapshot_barrier() || constraints.moves_objects {
        return;
    }
    let mut follows = |is_held| {
        // The final mark may be over before the allocation returns that found marking due, or the initial one may be late.
        (0..50).any(|_| {
            vm.collect();
            begin_marking(&mut vm, is_held);
            let follows = vm.final_mark_follows();
            vm.hold_handle(false);
            follows
        })
    };
    assert!(follows(false), "no pause marked all");
    assert!(!follows(true), "a pause marked what was held");
    assert_eq!(vm.wrongly_waited_for(), 0);
}
