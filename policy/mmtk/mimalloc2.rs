// SPDX-License-Identifier: MIT OR Apache-2.0
//! mimalloc 2, as the system has it, for mmtk-core's malloc mark-sweep. It is loaded by `dlopen` for
//! itself alone: both forms of it that can be linked define `malloc`, and would serve the plugin's own
//! allocations too.

use std::ffi::{c_int, c_void, CStr};
use std::sync::LazyLock;

/// log2 of the bytes of a page, the unit in which memory of the library is counted.
pub const LOG_BYTES_IN_MALLOC_PAGE: u8 = super::LOG_BYTES_COUNTED;

const FILE: &CStr = c"libmimalloc.so.2.0";

fn find(symbol: &CStr) -> *mut c_void {
    static HANDLE: LazyLock<usize> = LazyLock::new(|| {
        // SAFETY: the library does no harm where it is loaded.
        let handle = unsafe { libc::dlopen(FILE.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(
            !handle.is_null(),
            "{FILE:?} cannot be loaded: install Debian's package libmimalloc2.0"
        );
        handle.expose_provenance()
    });
    let handle = std::ptr::with_exposed_provenance_mut(*HANDLE);
    // SAFETY: the library is loaded, and never unloaded.
    let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
    assert!(!found.is_null(), "{FILE:?} has no {symbol:?}");
    found
}

macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $symbol:literal;)*) => {
        struct Library {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        static LIBRARY: LazyLock<Library> = LazyLock::new(|| Library {
            // SAFETY: the types below are those of mimalloc.h.
            $($name: unsafe {
                std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn($($type),*) $(-> $result)?,
                >(find($symbol))
            },)*
        });

        $(
            /// As the C library's function of this name.
            ///
            /// # Safety
            /// As there.
            pub unsafe fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: promised by the caller.
                unsafe { (LIBRARY.$name)($($argument),*) }
            }
        )*
    };
}

functions! {
    malloc(size: usize) -> *mut c_void = c"mi_malloc";
    calloc(count: usize, size: usize) -> *mut c_void = c"mi_calloc";
    realloc(object: *mut c_void, size: usize) -> *mut c_void = c"mi_realloc";
    free(object: *mut c_void) = c"mi_free";
    posix_memalign(result: *mut *mut c_void, align: usize, size: usize) -> c_int
        = c"mi_posix_memalign";
    malloc_usable_size(object: *const c_void) -> usize = c"mi_malloc_usable_size";
}
