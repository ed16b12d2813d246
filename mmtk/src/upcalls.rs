// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the VM, behind safe signatures.
//!
//! `third_party_heap_entry` installs the table before anything else of the plugin runs, so that
//! every caller here may rely on it.

use crate::abi::{self, SizeFlags};
use crate::active_plan;
use crate::references::SoftPolicy;
use mmtk::util::{Address, ObjectReference, OpaquePointer, VMThread};
use std::ffi::{c_void, CString};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

static TABLE: AtomicPtr<abi::Vm> = AtomicPtr::new(ptr::null_mut());

/// Keeps the VM's table for ever.
///
/// # Safety
/// `table` must stay valid and unchanged while the process lives, and none of its functions may be
/// null.
pub unsafe fn install(table: *const abi::Vm) {
    TABLE.store(table.cast_mut(), Ordering::Release);
}

#[inline(always)]
fn vm() -> &'static abi::Vm {
    let table = TABLE.load(Ordering::Acquire);
    debug_assert!(!table.is_null(), "the plugin was called before its entry");
    // SAFETY: `install` was given a table that lives for ever.
    unsafe { &*table }
}

/// The `Thread*` in an mmtk thread.
pub fn raw_thread(thread: VMThread) -> abi::Thread {
    thread.0.to_address().to_mut_ptr()
}

/// The mmtk thread of a `Thread*`.
pub fn vm_thread(thread: abi::Thread) -> VMThread {
    VMThread(OpaquePointer::from_address(Address::from_mut_ptr(thread)))
}

/// A C string of `text`, which may not hold its end marker.
fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Ends the VM as an internal error.
pub fn fatal(message: &str) -> ! {
    // SAFETY: the string outlives the call, which does not return.
    unsafe { (vm().fatal)(c_string(message).as_ptr()) }
}

/// Ends the VM because the operating system gave no memory: that many bytes, 0 if that is not known, for what `message` names.
pub fn out_of_os_memory(message: &str, bytes: usize) -> ! {
    // SAFETY: as in `fatal`.
    unsafe { (vm().out_of_os_memory)(c_string(message).as_ptr(), bytes as u64) }
}

/// Ends the VM because there is no memory for the plugin's own data; does nothing before the VM has shown how. Allocates nothing.
#[cold]
pub fn out_of_own_memory(bytes: usize) {
    if !TABLE.load(Ordering::Acquire).is_null() {
        // SAFETY: as in `fatal`.
        unsafe { (vm().out_of_os_memory)(c"the data of the heap's plugin".as_ptr(), bytes as u64) }
    }
}

/// Writes one line to the unified log.
pub fn log(level: i32, message: &str) {
    // SAFETY: the string outlives the call.
    unsafe { (vm().log)(level, c_string(message).as_ptr()) }
}

/// Whether the unified log keeps messages of this level.
pub fn is_log_enabled(level: i32) -> bool {
    // SAFETY: has no preconditions.
    unsafe { (vm().is_log_enabled)(level) != 0 }
}

/// Makes a GC thread that calls `run_worker` with `worker`.
pub fn spawn_worker(worker: abi::Worker) {
    // SAFETY: the VM only hands the pointer back.
    unsafe { (vm().spawn_worker)(worker) }
}

/// Brings all Java threads to a safepoint.
pub fn stop_all_mutators(worker: VMThread) {
    // SAFETY: `worker` is the calling GC thread.
    unsafe { (vm().stop_all_mutators)(raw_thread(worker)) }
}

/// Ends the safepoint.
pub fn resume_mutators(worker: VMThread) {
    // SAFETY: `worker` is the calling GC thread and the mutators are stopped.
    unsafe { (vm().resume_mutators)(raw_thread(worker)) }
}

/// Blocks the calling thread until a collection is over.
pub fn block_for_gc(thread: VMThread) {
    // SAFETY: `thread` is the calling thread, which has asked for a collection.
    unsafe { (vm().block_for_gc)(raw_thread(thread)) }
}

/// Every bound mutator. Mutators must be stopped.
pub fn mutators() -> Vec<abi::Mutator> {
    unsafe extern "C" fn visit(context: *mut c_void, mutator: abi::Mutator, _: abi::Thread) {
        // SAFETY: `context` is the vector below, which only this call uses.
        let found = unsafe { &mut *context.cast::<Vec<abi::Mutator>>() };
        found.push(mutator);
    }
    let mut found: Vec<abi::Mutator> = Vec::with_capacity(active_plan::bound());
    // SAFETY: the VM passes `found` to `visit` only while this call lasts.
    unsafe { (vm().mutators_do)(visit, ptr::from_mut(&mut found).cast()) };
    found
}

/// Reports the root slots of one Java thread to `sink`.
pub fn scan_thread_roots(thread: VMThread, sink: &abi::RootSink) {
    // SAFETY: mutators are stopped, and the sink outlives the call.
    unsafe { (vm().scan_thread_roots)(raw_thread(thread), sink) }
}

/// Reports the calling worker's part of the root slots of one set to `sink`.
pub fn scan_roots(root_set: abi::RootSet, sink: &abi::RootSink) {
    // SAFETY: as in `scan_thread_roots`.
    unsafe { (vm().scan_roots)(root_set as i32, sink) }
}

/// The slots that `scan` reports.
fn reported_slots(scan: impl FnOnce(&abi::RootSink)) -> Vec<abi::RawSlot> {
    unsafe extern "C" fn report(context: *mut c_void, slots: *const abi::RawSlot, count: usize) {
        if count > 0 {
            // SAFETY: `context` is the vector below, which only this call uses; the VM passes `count` slots.
            unsafe {
                (*context.cast::<Vec<abi::RawSlot>>())
                    .extend_from_slice(std::slice::from_raw_parts(slots, count))
            };
        }
    }
    let mut found = Vec::new();
    let context = ptr::from_mut(&mut found).cast();
    scan(&abi::RootSink { report, context });
    found
}

/// Root slots that concurrent marking has not come to.
pub fn late_roots() -> Vec<abi::RawSlot> {
    // SAFETY: called in a final mark only, with mutators stopped, and the sink outlives the call.
    reported_slots(|sink| unsafe { (vm().scan_late_roots)(sink) })
}

/// Announces that roots will be scanned once more in this collection.
pub fn prepare_for_roots_re_scanning() {
    // SAFETY: called inside a collection only.
    unsafe { (vm().prepare_for_roots_re_scanning)() }
}

/// How many workers the weak roots are worth, at most `max_workers`.
pub fn weak_root_workers(max_workers: usize) -> usize {
    let max_workers = u32::try_from(max_workers).expect("threads are fewer");
    // SAFETY: called inside a collection.
    unsafe { (vm().weak_root_workers)(max_workers) as usize }
}

/// Clears weak roots to unreached objects and updates the others: the part of the calling worker.
pub fn process_weak_roots() {
    // SAFETY: called inside a collection, when reachability is final.
    unsafe { (vm().process_weak_roots)() }
}

/// What is to be done when all weak roots have been processed: unloads unreached classes.
pub fn end_weak_roots() {
    // SAFETY: called inside a collection, by one worker, when the others are done.
    unsafe { (vm().end_weak_roots)() }
}

/// Updates the remaining weak roots: the part of the calling worker.
pub fn forward_weak_roots() {
    // SAFETY: called inside a collection, when every object has its new address.
    unsafe { (vm().forward_weak_roots)() }
}

/// Reports the slots of a class loader data to `sink`, unless this scan has done so already.
pub fn visit_class_loader_data(class_loader_data: Address, sink: &abi::RootSink) {
    // SAFETY: a class loader data of a class or a loader that is reached, and the sink outlives the
    // call.
    unsafe { (vm().visit_class_loader_data)(class_loader_data.to_mut_ptr(), sink) }
}

/// Whether this collection, or marking that has begun in this pause, unloads classes. Otherwise all class loader data are roots.
pub fn unloads_classes() -> bool {
    // SAFETY: called inside a collection only.
    unsafe { (vm().unloads_classes)() != 0 }
}

/// What this collection does with soft references.
pub fn soft_reference_policy() -> SoftPolicy {
    let (mut clear_all, mut clock, mut max_age) = (0, 0, 0);
    // SAFETY: three places to write to, valid during the call.
    unsafe { (vm().soft_reference_policy)(&mut clear_all, &mut clock, &mut max_age) };
    SoftPolicy {
        clear_all: clear_all != 0,
        clock,
        max_age,
    }
}

/// Makes `head` the VM's list of pending references and returns the old head.
pub fn swap_reference_pending_list(head: ObjectReference) -> Option<ObjectReference> {
    // SAFETY: `head` is a reference object, linked through `discovered`.
    let old = unsafe { (vm().swap_reference_pending_list)(head.to_raw_address().to_mut_ptr()) };
    ObjectReference::from_raw_address(Address::from_mut_ptr(old))
}

/// Tells how many references of each kind this collection has discovered.
pub fn report_discovered_references(soft: usize, weak: usize, finals: usize, phantom: usize) {
    let [soft, weak, finals, phantom] = [soft, weak, finals, phantom].map(|count| count as u64);
    // SAFETY: called inside a collection only.
    unsafe { (vm().report_discovered_references)(soft, weak, finals, phantom) }
}

/// What bounds the heap's size now.
pub fn size_flags() -> SizeFlags {
    let mut flags = SizeFlags::default();
    // SAFETY: the VM only writes the numbers to where it is told.
    unsafe { (vm().size_flags)(&mut flags) };
    flags
}

/// Tells that a range of addresses was mapped, and whether for objects.
pub fn memory_mapped(start: Address, bytes: usize, is_heap: bool) {
    // SAFETY: the VM only writes the numbers down.
    unsafe { (vm().memory_mapped)(start.to_ptr(), bytes as u64, is_heap.into()) }
}

/// Tells that a part of the pause begins, and the one that lasts ends. Called by a worker inside a collection, by one at a time.
pub fn begin_phase(phase: abi::Phase) {
    // SAFETY: a phase that the VM knows, inside a collection.
    unsafe { (vm().begin_phase)(phase as i32) }
}

/// The VM's own answer to the size of an object, in bytes.
pub fn debug_object_size(object: ObjectReference) -> usize {
    // SAFETY: `object` is a live object.
    unsafe { (vm().debug_object_size)(object.to_raw_address().to_ptr()) as usize }
}

/// Every reference slot of an object that is not null, as the VM finds them.
#[cfg(debug_assertions)]
pub fn debug_slots(object: ObjectReference) -> Vec<abi::RawSlot> {
    // SAFETY: `object` is a live object, and the sink outlives the call.
    reported_slots(|sink| unsafe {
        (vm().debug_scan_object)(object.to_raw_address().to_ptr(), sink)
    })
}

/// Has the VM print an object.
pub fn debug_print_object(object: ObjectReference) {
    // SAFETY: `object` is a live object.
    unsafe { (vm().debug_print_object)(object.to_raw_address().to_ptr()) }
}
