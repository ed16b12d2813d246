// SPDX-License-Identifier: MIT OR Apache-2.0
//! The roots of the fake VM, strong and weak, and its two class loader data.

use super::{is_running, plugin, COMPRESSED};
use crate::abi::{self, RawSlot, RootSet, RootSink, Thread};
use crate::layout::tests::{class_loader_data, test_layout};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;
use std::{ptr, thread};

const ROOTS: usize = 16;
pub static STRONG: [AtomicUsize; ROOTS] = [const { AtomicUsize::new(0) }; ROOTS];
pub static PENDING: AtomicUsize = AtomicUsize::new(0);
pub static WEAK: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
pub static CLEAR_SOFT: AtomicI32 = AtomicI32::new(0);

/// A full oop among narrow ones.
pub fn root_slot(root: &AtomicUsize) -> RawSlot {
    let mark = if COMPRESSED.load(Ordering::Relaxed) != 0 {
        abi::WIDE_SLOT
    } else {
        0
    };
    root.as_ptr() as usize | mark
}

pub fn report(sink: *const RootSink, slots: &[RawSlot]) {
    // SAFETY: the plugin passes a sink.
    unsafe { ((*sink).report)((*sink).context, slots.as_ptr(), slots.len()) }
}

/// Roots 0 to 3 are the thread's.
pub unsafe extern "C" fn scan_thread_roots(_thread: Thread, sink: *const RootSink) {
    report(sink, &STRONG[..4].iter().map(root_slot).collect::<Vec<_>>());
}

/// How many roots of each set have been claimed by a worker in this scan.
static CLAIMED: [AtomicUsize; RootSet::ALL.len()] =
    [const { AtomicUsize::new(0) }; RootSet::ALL.len()];

/// The other roots are dealt out to the sets, and so is the pending list.
pub unsafe extern "C" fn scan_roots(set: i32, sink: *const RootSink) {
    let mine = STRONG.iter().enumerate().skip(4);
    let mut slots: Vec<_> = mine
        .filter(|(index, _)| index % RootSet::ALL.len() == set as usize)
        .map(|(_, root)| root_slot(root))
        .collect();
    if set == RootSet::OopStorages as i32 {
        slots.push(root_slot(&PENDING));
    }
    while let Some(slot) = slots.get(CLAIMED[set as usize].fetch_add(1, Ordering::SeqCst)) {
        if *slot == root_slot(&PENDING) && IS_HELD.load(Ordering::SeqCst) {
            thread::sleep(LONGER_THAN_INITIAL_MARK);
        }
        report(sink, &[*slot]);
    }
}

/// The class loader data of all classes but one, which nothing unloads.
pub static BOOT: LazyLock<usize> = LazyLock::new(|| make_class_loader_data(3));
/// That of the class [`Class::Loaded`](super::Class::Loaded) and, in its class loader field, of each instance.
pub static LOADER: LazyLock<usize> = LazyLock::new(|| make_class_loader_data(0));
/// Its handle.
pub static HANDLE: AtomicUsize = AtomicUsize::new(0);
/// How often it has been visited.
pub static VISITS: AtomicUsize = AtomicUsize::new(0);

/// Whether workers visit it only beside the Java thread, and wait before they do: initial pauses have no time to mark.
pub static IS_HELD: AtomicBool = AtomicBool::new(false);

/// The longest that a plan marks in an initial pause is 4 ms.
const LONGER_THAN_INITIAL_MARK: Duration = Duration::from_millis(8);

fn make_class_loader_data(claim: i32) -> usize {
    Box::leak(Box::new(class_loader_data(claim)))
        .address()
        .as_usize()
}

fn loader_claim() -> &'static AtomicI32 {
    let claim = *LOADER + test_layout().class_loader_data_claim_offset as usize;
    // SAFETY: the aligned field of what is never freed.
    unsafe { AtomicI32::from_ptr(claim as *mut i32) }
}

/// Objects that concurrent marking does not come to, and the final mark is to be told of.
pub static LATE: Mutex<Vec<AtomicUsize>> = Mutex::new(Vec::new());

pub unsafe extern "C" fn scan_late_roots(sink: *const RootSink) {
    // The plugin loads the slots when this is over.
    let roots = std::mem::take(&mut *LATE.lock().unwrap()).leak();
    report(sink, &roots.iter().map(root_slot).collect::<Vec<_>>());
}

/// Begins a scan.
pub fn unclaim() {
    loader_claim().store(0, Ordering::SeqCst);
    for claimed in CLAIMED.iter().chain([&CLAIMED_WEAK]) {
        claimed.store(0, Ordering::SeqCst);
    }
}

pub unsafe extern "C" fn visit_class_loader_data(data: *mut c_void, sink: *const RootSink) {
    assert_eq!(data as usize, *LOADER, "the other one is always claimed");
    if loader_claim().swap(3, Ordering::SeqCst) == 0 {
        VISITS.fetch_add(1, Ordering::SeqCst);
        while IS_HELD.load(Ordering::SeqCst) && is_running() {
            thread::yield_now();
        }
        report(sink, &[root_slot(&HANDLE)]);
    }
}

pub unsafe extern "C" fn prepare_for_roots_re_scanning() {
    unclaim();
}

/// The same of the weak roots.
static CLAIMED_WEAK: AtomicUsize = AtomicUsize::new(0);

pub unsafe extern "C" fn weak_root_workers(max_workers: u32) -> u32 {
    max_workers
}

/// Gives the weak roots that the caller claims what `new` makes of them.
fn replace_weak_roots(new: impl Fn(*mut c_void) -> *mut c_void) {
    while let Some(root) = WEAK.get(CLAIMED_WEAK.fetch_add(1, Ordering::SeqCst)) {
        let object = root.load(Ordering::Relaxed) as *mut c_void;
        if !object.is_null() {
            root.store(new(object) as usize, Ordering::Relaxed);
        }
    }
}

pub unsafe extern "C" fn process_weak_roots() {
    // SAFETY: objects, inside a collection.
    replace_weak_roots(|object| unsafe {
        if (plugin().is_reachable)(object) == 0 {
            ptr::null_mut()
        } else {
            (plugin().forwarded)(object)
        }
    });
}

pub unsafe extern "C" fn end_weak_roots() {}

pub unsafe extern "C" fn forward_weak_roots() {
    // SAFETY: reached objects.
    replace_weak_roots(|object| unsafe { (plugin().forwarded)(object) });
}

pub unsafe extern "C" fn soft_reference_policy(
    clear_all: *mut i32,
    clock: *mut i64,
    max_age: *mut i64,
) {
    // SAFETY: the plugin passes three places.
    unsafe {
        *clear_all = CLEAR_SOFT.load(Ordering::Relaxed);
        *clock = 1000;
        *max_age = 1000;
    }
}

pub unsafe extern "C" fn swap_reference_pending_list(head: *mut c_void) -> *mut c_void {
    PENDING.swap(head as usize, Ordering::Relaxed) as *mut c_void
}
