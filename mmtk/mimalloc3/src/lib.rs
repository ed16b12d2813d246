// SPDX-License-Identifier: MIT OR Apache-2.0
//! mimalloc 3 as a shared library that exports what a collector needs, and no `malloc`.
//!
//! Of a `cdylib` only Rust functions are exported, not those of the C code in it: hence a function
//! here for each of mimalloc's, under the prefix `mi3_`.

#![warn(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks
)]

use std::ffi::{c_int, c_void};

macro_rules! export {
    ($($exported:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $function:ident;)*) => {
        $(
            /// As the C library's function of this name.
            ///
            /// # Safety
            /// As there.
            #[no_mangle]
            pub unsafe extern "C" fn $exported($($argument: $type),*) $(-> $result)? {
                // SAFETY: promised by the caller.
                unsafe { libmimalloc_sys::$function($($argument),*) }
            }
        )*
    };
}

export! {
    mi3_malloc(size: usize) -> *mut c_void = mi_malloc;
    mi3_calloc(count: usize, size: usize) -> *mut c_void = mi_calloc;
    mi3_realloc(object: *mut c_void, size: usize) -> *mut c_void = mi_realloc;
    mi3_free(object: *mut c_void) = mi_free;
    mi3_posix_memalign(result: *mut *mut c_void, align: usize, size: usize) -> c_int
        = mi_posix_memalign;
    mi3_malloc_usable_size(object: *const c_void) -> usize = mi_usable_size;
}
