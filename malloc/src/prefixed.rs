// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of `shardsweep.h`, which says what they do.

use libc::{c_int, c_void, size_t};
use shardsweep_policy::malloc as ours;
use shardsweep_policy::malloc::{heaps, options, DeferredFree, Heap};
use std::ptr::{null, null_mut};

/// The pointer; where it is null, `errno` says why.
#[inline(always)]
pub(crate) fn with_errno(pointer: *mut u8) -> *mut c_void {
    if pointer.is_null() {
        set_errno(libc::ENOMEM);
    }
    pointer.cast()
}

#[cold]
fn set_errno(error: c_int) {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() = error };
}

/// As `malloc`.
#[no_mangle]
pub extern "C-unwind" fn shardsweep_malloc(size: size_t) -> *mut c_void {
    let pointer = ours::malloc_at_once(size);
    if pointer.is_null() {
        malloc_slowly(size)
    } else {
        pointer.cast()
    }
}

// With an ABI that lets exceptions through, a call at the end is a jump, and the path before it needs no frame.
#[cold]
#[inline(never)]
extern "C-unwind" fn malloc_slowly(size: size_t) -> *mut c_void {
    with_errno(ours::malloc(size))
}

/// As `calloc`.
#[no_mangle]
pub extern "C" fn shardsweep_calloc(count: size_t, size: size_t) -> *mut c_void {
    with_errno(ours::calloc(count, size))
}

/// As `free`.
///
/// # Safety
/// As there.
#[no_mangle]
pub unsafe extern "C-unwind" fn shardsweep_free(pointer: *mut c_void) {
    // SAFETY: promised by the caller.
    unsafe { ours::free(pointer.cast()) }
}

/// As `realloc`; as in glibc, a size of 0 frees what is there.
///
/// # Safety
/// As there.
#[no_mangle]
pub unsafe extern "C" fn shardsweep_realloc(pointer: *mut c_void, size: size_t) -> *mut c_void {
    if size == 0 && !pointer.is_null() {
        // SAFETY: promised by the caller.
        unsafe { ours::free(pointer.cast()) };
        return null_mut();
    }
    // SAFETY: promised by the caller.
    with_errno(unsafe { ours::realloc(pointer.cast(), size) })
}

/// As `reallocarray`.
///
/// # Safety
/// As there.
#[no_mangle]
pub unsafe extern "C" fn shardsweep_reallocarray(
    pointer: *mut c_void,
    count: size_t,
    size: size_t,
) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: promised by the caller.
        Some(bytes) => unsafe { shardsweep_realloc(pointer, bytes) },
        None => with_errno(null_mut()),
    }
}

/// As `posix_memalign`.
///
/// # Safety
/// As there.
#[no_mangle]
pub unsafe extern "C" fn shardsweep_posix_memalign(
    result: *mut *mut c_void,
    align: size_t,
    size: size_t,
) -> c_int {
    if !align.is_power_of_two() || align % std::mem::size_of::<*mut c_void>() != 0 {
        return libc::EINVAL;
    }
    let pointer = ours::aligned_alloc(align, size);
    if pointer.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: promised by the caller.
    unsafe { *result = pointer.cast() };
    0
}

/// As `aligned_alloc`.
#[no_mangle]
pub extern "C" fn shardsweep_aligned_alloc(align: size_t, size: size_t) -> *mut c_void {
    if !align.is_power_of_two() {
        set_errno(libc::EINVAL);
        return null_mut();
    }
    with_errno(ours::aligned_alloc(align, size))
}

/// As `malloc_usable_size`.
///
/// # Safety
/// As there.
#[no_mangle]
pub unsafe extern "C" fn shardsweep_malloc_usable_size(pointer: *const c_void) -> size_t {
    // SAFETY: promised by the caller.
    unsafe { ours::usable_size(pointer.cast()) }
}

/// A new heap of the calling thread, or null.
#[no_mangle]
pub extern "C" fn shardsweep_heap_new() -> *const Heap {
    heaps::new().map_or(null(), std::ptr::from_ref)
}

/// The default heap of the calling thread, or null.
#[no_mangle]
pub extern "C" fn shardsweep_heap_default() -> *const Heap {
    heaps::default().map_or(null(), std::ptr::from_ref)
}

/// Ends a heap; the thread's default heap gets its cells.
///
/// # Safety
/// The heap came from `shardsweep_heap_new` in this thread, and is not used any further.
#[no_mangle]
pub unsafe extern "C" fn shardsweep_heap_delete(heap: *const Heap) {
    // SAFETY: promised by the caller.
    unsafe { heaps::delete(&*heap) }
}

/// Ends a heap, and frees its cells.
///
/// # Safety
/// As for `shardsweep_heap_delete`; and no cell of it is used any further.
#[no_mangle]
pub unsafe extern "C" fn shardsweep_heap_destroy(heap: *const Heap) {
    // SAFETY: promised by the caller.
    unsafe { heaps::destroy(&*heap) }
}

/// As `malloc`, from a heap.
///
/// # Safety
/// The heap is one of the calling thread.
#[no_mangle]
pub unsafe extern "C" fn shardsweep_heap_malloc(heap: *const Heap, size: size_t) -> *mut c_void {
    // SAFETY: promised by the caller.
    with_errno(unsafe { ours::heap_malloc(&*heap, size) })
}

/// As `calloc`, from a heap.
///
/// # Safety
/// As for `shardsweep_heap_malloc`.
#[no_mangle]
pub unsafe extern "C" fn shardsweep_heap_calloc(
    heap: *const Heap,
    count: size_t,
    size: size_t,
) -> *mut c_void {
    // SAFETY: promised by the caller.
    with_errno(unsafe { ours::heap_calloc(&*heap, count, size) })
}

/// As `aligned_alloc`, from a heap.
///
/// # Safety
/// As for `shardsweep_heap_malloc`.
#[no_mangle]
pub unsafe extern "C" fn shardsweep_heap_aligned_alloc(
    heap: *const Heap,
    align: size_t,
    size: size_t,
) -> *mut c_void {
    if !align.is_power_of_two() {
        set_errno(libc::EINVAL);
        return null_mut();
    }
    // SAFETY: promised by the caller.
    with_errno(unsafe { ours::heap_aligned_alloc(&*heap, align, size) })
}

/// Whether a cell in use is of the heap.
///
/// # Safety
/// Both are valid.
#[no_mangle]
pub unsafe extern "C" fn shardsweep_heap_contains(
    heap: *const Heap,
    pointer: *const c_void,
) -> bool {
    // SAFETY: promised by the caller.
    unsafe { heaps::contains(&*heap, pointer.addr()) }
}

/// What `shardsweep_heap_visit` calls for each cell in use; false ends it.
pub type Visitor = extern "C" fn(cell: *mut c_void, bytes: size_t, argument: *mut c_void) -> bool;

/// Calls `visitor` for each cell of the heap that is in use.
///
/// # Safety
/// As for `shardsweep_heap_malloc`. The visitor does not allocate from the heap, frees nothing in it, does not end it, and does not unwind. It
/// neither reads nor writes cells that another thread may free meanwhile.
#[no_mangle]
pub unsafe extern "C" fn shardsweep_heap_visit(
    heap: *const Heap,
    visitor: Visitor,
    argument: *mut c_void,
) {
    let visit = |cell, bytes| {
        let cell = std::ptr::with_exposed_provenance_mut(cell);
        visitor(cell, bytes, argument)
    };
    // SAFETY: promised by the caller.
    unsafe { heaps::visit(&*heap, visit) };
}

/// Collects what was freed in the blocks of a heap; with `force`, memory goes back to the OS.
///
/// # Safety
/// As for `shardsweep_heap_malloc`.
#[no_mangle]
pub unsafe extern "C" fn shardsweep_heap_collect(heap: *const Heap, force: bool) {
    // SAFETY: promised by the caller.
    unsafe { (*heap).collect(force) };
}

/// Collects what was freed in the blocks of the thread's heaps; with `force`, memory goes back to the OS.
#[no_mangle]
pub extern "C" fn shardsweep_collect(force: bool) {
    heaps::collect(force);
}

/// Sets the hook that the generic path calls; null for none.
#[no_mangle]
pub extern "C" fn shardsweep_set_deferred_free(hook: Option<DeferredFree>, argument: *mut c_void) {
    ours::set_deferred_free(hook, argument);
}

/// Sets an option, one of those that `shardsweep.h` numbers. False if there is none of this number.
#[no_mangle]
pub extern "C" fn shardsweep_set_option(option: c_int, value: i64) -> bool {
    let Some(option) = option_of(option) else {
        return false;
    };
    options::set(option, value);
    true
}

/// What an option is set to; 0 if there is none of this number.
#[no_mangle]
pub extern "C" fn shardsweep_get_option(option: c_int) -> i64 {
    option_of(option).map_or(0, options::get)
}

fn option_of(number: c_int) -> Option<options::Option> {
    match number {
        0 => Some(options::Option::ResetDelay),
        1 => Some(options::Option::ShowStats),
        _ => None,
    }
}

/// Prints statistics to standard error.
#[no_mangle]
pub extern "C" fn shardsweep_print_stats() {
    ours::statistics::print();
}
