// SPDX-License-Identifier: MIT OR Apache-2.0
//! A malloc as a shared library, for mmtk-core's malloc mark-sweep: mimalloc 2 or 3, mimalloc with blocks of 4 KiB, or
//! ours. It is loaded by `dlopen`, for the Java heap alone: the forms of mimalloc 2 that can be linked define `malloc`,
//! and would serve the plugin's own allocations too; version 3 cannot be in one dependency graph with version 1.

use std::ffi::{c_int, c_void, CStr, CString};
use std::sync::LazyLock;

/// log2 of the bytes of a page, the unit in which memory of the library is counted.
pub const LOG_BYTES_IN_MALLOC_PAGE: u8 = crate::util::malloc::library::LOG_BYTES_COUNTED;

/// Where the functions of one library are.
struct Names {
    /// For `dlopen`, to which `$ORIGIN` is the plugin's folder.
    file: &'static CStr,
    /// What the C library's names of the functions have in front.
    prefix: &'static str,
    /// What to do where it cannot be loaded.
    remedy: &'static str,
}

const BESIDE: &str = "`make plugin` puts it beside the plugin";

const NAMES: Names = if cfg!(feature = "malloc_mimalloc3") {
    Names {
        file: c"$ORIGIN/libmimalloc3.so",
        prefix: "mi3_",
        remedy: BESIDE,
    }
} else if cfg!(feature = "malloc_mimalloc1_4kblock") {
    Names {
        file: c"$ORIGIN/libmimalloc1-4kblock.so",
        prefix: "mi_",
        remedy: BESIDE,
    }
} else if cfg!(feature = "malloc_mimalloc2_4kblock") {
    Names {
        file: c"$ORIGIN/libmimalloc2-4kblock.so",
        prefix: "mi_",
        remedy: BESIDE,
    }
} else if cfg!(feature = "malloc_shardsweep") {
    Names {
        file: c"$ORIGIN/libshardsweep_malloc.so",
        prefix: "shardsweep_",
        remedy: BESIDE,
    }
} else {
    Names {
        file: c"libmimalloc.so.2.0",
        prefix: "mi_",
        remedy: "install Debian's package libmimalloc2.0",
    }
};

fn open() -> Result<*mut c_void, String> {
    // SAFETY: the library's initialisation has no effect on others.
    let handle = unsafe { libc::dlopen(NAMES.file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    present(handle)
}

fn find(library: *mut c_void, name: &str) -> Result<*mut c_void, String> {
    let symbol = CString::new(format!("{}{name}", NAMES.prefix)).expect("names have no zero");
    // SAFETY: the library is loaded, and never unloaded.
    present(unsafe { libc::dlsym(library, symbol.as_ptr()) })
}

/// What the last call of the dynamic linker returned, or a line that says why it is null.
fn present(found: *mut c_void) -> Result<*mut c_void, String> {
    if !found.is_null() {
        return Ok(found);
    }
    // SAFETY: after a call that failed it returns a C string, which is copied at once.
    let reason = unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy();
    // The dynamic linker names a file that it does not find as it was asked for it.
    let reason = reason.trim_start_matches("$ORIGIN/");
    Err(format!("{reason}: {}", NAMES.remedy))
}

macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        struct Library {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        fn load() -> Result<Library, String> {
            let library = open()?;
            Ok(Library {
                // SAFETY: the types below are those of the C library.
                $($name: unsafe {
                    std::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C" fn($($type),*) $(-> $result)?,
                    >(find(library, stringify!($name))?)
                },)*
            })
        }

        $(
            /// As the C library's function of this name. Panics where the library cannot be loaded.
            ///
            /// # Safety
            /// As there.
            pub unsafe fn $name($($argument: $type),*) $(-> $result)? {
                let library = LIBRARY.as_ref().expect("check_library was called");
                // SAFETY: promised by the caller.
                unsafe { (library.$name)($($argument),*) }
            }
        )*
    };
}

functions! {
    malloc(size: usize) -> *mut c_void;
    calloc(count: usize, size: usize) -> *mut c_void;
    realloc(object: *mut c_void, size: usize) -> *mut c_void;
    free(object: *mut c_void);
    posix_memalign(result: *mut *mut c_void, align: usize, size: usize) -> c_int;
    malloc_usable_size(object: *const c_void) -> usize;
}

static LIBRARY: LazyLock<Result<Library, String>> = LazyLock::new(load);

/// Loads the library, if it is not loaded yet. To be called before the heap is made.
///
/// # Errors
/// Says in one line which file cannot be loaded, and what to do about it.
pub fn check_library() -> Result<(), String> {
    LIBRARY.as_ref().map(drop).map_err(String::clone)
}
