// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Shardsweep allocator as a `malloc`, in three ways: `libshardsweep_malloc.so` to preload, `shardsweep.h` for C
//! programs that name it, and [`Shardsweep`] for Rust programs.

/// What the program calls by this name: the function here, or one by which it replaces that. Rust would take the one here.
#[cfg(feature = "override")]
macro_rules! of_program {
    ($name:ident) => {{
        let function: *const libc::c_void;
        // SAFETY: it loads an address that the loader has stored.
        unsafe {
            std::arch::asm!(
                concat!("mov {}, qword ptr [rip + ", stringify!($name), "@GOTPCREL]"),
                out(reg) function,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        function
    }};
}

#[cfg(feature = "override")]
mod cxx;
#[cfg(feature = "override")]
mod libc_names;
mod prefixed;

pub use prefixed::*;
use shardsweep_policy::malloc;
pub use shardsweep_policy::malloc::statistics::{statistics, Statistics};
use std::alloc::{GlobalAlloc, Layout};

/// The allocator of a Rust program: `#[global_allocator] static ALLOCATOR: Shardsweep = Shardsweep;`
#[derive(Clone, Copy, Debug, Default)]
pub struct Shardsweep;

// SAFETY: cells have the size and alignment asked for, and are the caller's until it frees them.
unsafe impl GlobalAlloc for Shardsweep {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        malloc::aligned_alloc(layout.align(), layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        malloc::aligned_calloc(layout.align(), layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, _: Layout) {
        // SAFETY: promised by the caller.
        unsafe { malloc::free(pointer) };
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: promised by the caller.
        unsafe { malloc::aligned_realloc(pointer, layout.align(), size) }
    }
}

/// Runs before `main`, or where the library is opened later, before `dlopen` returns.
#[used]
#[link_section = ".init_array"]
static START: extern "C" fn() = {
    extern "C" fn start() {
        malloc::start_process();
    }
    start
};
