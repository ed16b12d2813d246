// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions that a program knows by the names of the C library, with its `errno`.

use super::prefixed::{self, with_errno};
use libc::{c_int, c_void, size_t};
use shardsweep_policy::malloc as ours;
use shardsweep_policy::malloc::heaps;
use shardsweep_policy::malloc::statistics::pages_reset;
use shardsweep_policy::PAGE_BYTES;
use std::mem::transmute;
use std::ptr::null_mut;

macro_rules! export {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {
        $(
            /// As the C library's.
            ///
            /// # Safety
            /// As there.
            $(#[$attribute])*
            #[no_mangle]
            pub unsafe extern "C-unwind" fn $name($($argument: $type),*) $(-> $result)? $body
        )*
    };
}

export! {
    fn malloc(size: size_t) -> *mut c_void {
        prefixed::shardsweep_malloc(size)
    }

    fn calloc(count: size_t, size: size_t) -> *mut c_void {
        with_errno(ours::calloc(count, size))
    }

    fn free(pointer: *mut c_void) {
        // SAFETY: promised by the caller.
        unsafe { ours::free(pointer.cast()) }
    }

    fn cfree(pointer: *mut c_void) {
        // SAFETY: promised by the caller.
        unsafe { free_of_program(pointer) }
    }

    // Of C23; what came from `malloc` and from `aligned_alloc` is freed in the same way.
    fn free_sized(pointer: *mut c_void, size: size_t) {
        let _ = size;
        // SAFETY: promised by the caller.
        unsafe { free_of_program(pointer) }
    }

    fn free_aligned_sized(pointer: *mut c_void, align: size_t, size: size_t) {
        let _ = (align, size);
        // SAFETY: promised by the caller.
        unsafe { free_of_program(pointer) }
    }

    fn malloc_trim(kept: size_t) -> c_int {
        let _ = kept;
        let before = pages_reset();
        heaps::collect(true);
        (pages_reset() > before).into()
    }

    fn realloc(pointer: *mut c_void, size: size_t) -> *mut c_void {
        // SAFETY: promised by the caller.
        unsafe { prefixed::shardsweep_realloc(pointer, size) }
    }

    fn reallocarray(pointer: *mut c_void, count: size_t, size: size_t) -> *mut c_void {
        match count.checked_mul(size) {
            // SAFETY: promised by the caller.
            Some(bytes) => unsafe { realloc_of_program(pointer, bytes) },
            None => with_errno(null_mut()),
        }
    }

    fn posix_memalign(result: *mut *mut c_void, align: size_t, size: size_t) -> c_int {
        // SAFETY: promised by the caller.
        unsafe { prefixed::shardsweep_posix_memalign(result, align, size) }
    }

    fn aligned_alloc(align: size_t, size: size_t) -> *mut c_void {
        prefixed::shardsweep_aligned_alloc(align, size)
    }

    fn memalign(align: size_t, size: size_t) -> *mut c_void {
        at_multiple(align, size)
    }

    fn valloc(size: size_t) -> *mut c_void {
        prefixed::shardsweep_aligned_alloc(PAGE_BYTES, size)
    }

    fn pvalloc(size: size_t) -> *mut c_void {
        whole_pages(size)
    }

    fn malloc_usable_size(pointer: *mut c_void) -> size_t {
        // SAFETY: promised by the caller.
        unsafe { ours::usable_size(pointer.cast()) }
    }
}

/// As the program's `free`. A program with a malloc of its own may lack a newer name, by which a library frees what is the program's.
unsafe fn free_of_program(pointer: *mut c_void) {
    type Free = unsafe extern "C-unwind" fn(*mut c_void);
    let free = of_program!(free);
    // SAFETY: the type is that of the function; the rest is promised by the caller.
    unsafe { transmute::<*const c_void, Free>(free)(pointer) }
}

/// As the program's `realloc`.
unsafe fn realloc_of_program(pointer: *mut c_void, size: size_t) -> *mut c_void {
    type Realloc = unsafe extern "C-unwind" fn(*mut c_void, size_t) -> *mut c_void;
    let realloc = of_program!(realloc);
    // SAFETY: the type is that of the function; the rest is promised by the caller.
    unsafe { transmute::<*const c_void, Realloc>(realloc)(pointer, size) }
}

// By these names programs call the C library's malloc from one of their own. So none of these calls a function above: that
// may be the program's.
export! {
    fn __libc_malloc(size: size_t) -> *mut c_void {
        prefixed::shardsweep_malloc(size)
    }

    fn __libc_calloc(count: size_t, size: size_t) -> *mut c_void {
        with_errno(ours::calloc(count, size))
    }

    fn __libc_realloc(pointer: *mut c_void, size: size_t) -> *mut c_void {
        // SAFETY: promised by the caller.
        unsafe { prefixed::shardsweep_realloc(pointer, size) }
    }

    fn __libc_free(pointer: *mut c_void) {
        // SAFETY: promised by the caller.
        unsafe { ours::free(pointer.cast()) }
    }

    fn __libc_memalign(align: size_t, size: size_t) -> *mut c_void {
        at_multiple(align, size)
    }

    fn __libc_valloc(size: size_t) -> *mut c_void {
        prefixed::shardsweep_aligned_alloc(PAGE_BYTES, size)
    }

    fn __libc_pvalloc(size: size_t) -> *mut c_void {
        whole_pages(size)
    }
}

/// As `memalign`.
fn at_multiple(align: size_t, size: size_t) -> *mut c_void {
    // glibc rounds the alignment up. What has no power of two above it, `shardsweep_aligned_alloc` refuses.
    let align = align.max(1).checked_next_power_of_two().unwrap_or(0);
    prefixed::shardsweep_aligned_alloc(align, size)
}

/// As `pvalloc`.
fn whole_pages(size: size_t) -> *mut c_void {
    match size.max(1).checked_next_multiple_of(PAGE_BYTES) {
        Some(size) => prefixed::shardsweep_aligned_alloc(PAGE_BYTES, size),
        None => with_errno(null_mut()),
    }
}
