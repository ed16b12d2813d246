// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plugin's own memory. Where the system has none left, the VM ends with a line that says so: Rust by itself would abort.

use crate::upcalls;
use std::alloc::{GlobalAlloc, Layout, System};

struct Checked;

#[global_allocator]
static ALLOCATOR: Checked = Checked;

#[inline]
fn checked(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        upcalls::out_of_own_memory(bytes);
    }
    memory
}

// SAFETY: the contract is the system allocator's, to which all calls go as they are.
unsafe impl GlobalAlloc for Checked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.realloc(memory, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}
