// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the allocator asks of the OS: address space, its return, and the time.

#[cfg(miri)]
pub(crate) use interpreted::*;
#[cfg(not(miri))]
pub(crate) use mapped::*;
use std::cell::Cell;

#[cfg(not(miri))]
mod mapped {
    use crate::config::PAGE_BYTES;

    /// Maps `bytes`, a multiple of the page, at a multiple of `align`, a power of two from the page up. The memory is zero. The kernel
    /// counts it as what it has promised: so it refuses what is more than the machine has, unless it is told to refuse nothing.
    pub(crate) fn map(bytes: usize, align: usize) -> Option<usize> {
        let start = map_anywhere(bytes)?;
        if start % align == 0 {
            return Some(start);
        }
        unmap(start, bytes);
        let all = bytes.checked_add(align - PAGE_BYTES)?;
        let start = map_anywhere(all)?;
        let aligned = start.next_multiple_of(align);
        unmap(start, aligned - start);
        unmap(aligned + bytes, start + all - (aligned + bytes));
        Some(aligned)
    }

    fn map_anywhere(bytes: usize) -> Option<usize> {
        // SAFETY: a private mapping at an address of the OS's choice touches no memory of anybody.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        (start != libc::MAP_FAILED).then(|| start.expose_provenance())
    }

    /// Maps memory at `start`. False if there is some already, or none to be had. The memory is zero.
    pub(crate) fn map_at(start: usize, bytes: usize) -> bool {
        // SAFETY: the OS refuses where something is mapped.
        let mapped = unsafe {
            libc::mmap(
                pointer(start),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return false;
        }
        let is_there = mapped == pointer(start);
        if !is_there {
            // To a kernel before 4.17 the address is a hint.
            unmap(mapped.addr(), bytes);
        }
        is_there
    }

    /// Unmaps memory that [`map`] returned, or a part of it. False where the OS has no mapping to spare for the rest.
    pub(crate) fn unmap(start: usize, bytes: usize) -> bool {
        // SAFETY: the callers own the memory, and use it no further.
        bytes == 0 || succeeds(|| unsafe { libc::munmap(pointer(start), bytes) })
    }

    /// Leaves `errno` as it was: what frees memory does not change it.
    fn succeeds(call: impl FnOnce() -> libc::c_int) -> bool {
        // SAFETY: there is always one, the thread's own.
        let (errno, before) = unsafe { (libc::__errno_location(), *libc::__errno_location()) };
        let status = call();
        // SAFETY: as above.
        unsafe { *errno = before };
        status == 0
    }

    /// Changes the length of a mapping without moving it. False where that is not possible.
    pub(crate) fn resize(start: usize, old_bytes: usize, new_bytes: usize) -> bool {
        // SAFETY: the caller owns the mapping. Without MREMAP_MAYMOVE it stays where it is.
        unsafe { libc::mremap(pointer(start), old_bytes, new_bytes, 0) != libc::MAP_FAILED }
    }

    /// Returns the memory to the OS. The addresses stay mapped, and read as zero. False where it is locked, and stays as it is.
    pub(crate) fn reset(start: usize, bytes: usize) -> bool {
        // SAFETY: the callers own these pages and have nothing in them.
        succeeds(|| unsafe { libc::madvise(pointer(start), bytes, libc::MADV_DONTNEED) })
    }

    /// Takes the access to pages away. False where the OS has no mapping to spare.
    pub(crate) fn protect(start: usize, bytes: usize) -> bool {
        // SAFETY: the callers own these pages, and do not touch them.
        succeeds(|| unsafe { libc::mprotect(pointer(start), bytes, libc::PROT_NONE) })
    }

    /// Gives access to pages of the callers' again.
    pub(crate) fn unprotect(start: usize, bytes: usize) -> bool {
        // SAFETY: the callers own these pages.
        succeeds(|| unsafe {
            libc::mprotect(pointer(start), bytes, libc::PROT_READ | libc::PROT_WRITE)
        })
    }

    fn pointer(address: usize) -> *mut libc::c_void {
        std::ptr::with_exposed_provenance_mut(address)
    }
}

/// As above, for an interpreter that maps no memory at a chosen place, returns none, and protects none.
#[cfg(miri)]
mod interpreted {
    use std::alloc::{GlobalAlloc, Layout, System};

    pub(crate) fn map(bytes: usize, align: usize) -> Option<usize> {
        let layout = Layout::from_size_align(bytes, align).ok()?;
        // SAFETY: the layout is not empty.
        let start = unsafe { System.alloc_zeroed(layout) };
        (!start.is_null()).then(|| start.expose_provenance())
    }

    /// Nothing is ever unmapped, so there is nothing to map again.
    pub(crate) fn map_at(_: usize, _: usize) -> bool {
        false
    }

    pub(crate) fn unmap(_: usize, _: usize) -> bool {
        true
    }

    pub(crate) fn resize(_: usize, _: usize, _: usize) -> bool {
        false
    }

    pub(crate) fn reset(start: usize, bytes: usize) -> bool {
        // SAFETY: the callers own these pages and have nothing in them.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(start).write_bytes(0, bytes) };
        true
    }

    pub(crate) fn protect(_: usize, _: usize) -> bool {
        false
    }

    pub(crate) fn unprotect(_: usize, _: usize) -> bool {
        true
    }
}

/// Fills `numbers` with some that nobody can foretell, or, where the kernel has none yet, that are hard to foretell.
pub(crate) fn random(numbers: &[Cell<u64>]) {
    let bytes = std::mem::size_of_val(numbers);
    let start = numbers.as_ptr().cast_mut();
    // SAFETY: it writes so many bytes, into cells that only this thread uses.
    let got = unsafe { libc::getrandom(start.cast(), bytes, libc::GRND_NONBLOCK) };
    if got != bytes as isize {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: it writes the time into `time`.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
        let place = (&raw const time).addr() as u64;
        let mut number = place.rotate_left(32) ^ time.tv_sec as u64;
        for place in numbers {
            number = (number ^ time.tv_nsec as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            place.set(number.rotate_left(29));
        }
    }
}

/// Milliseconds of a clock that never goes back.
pub(crate) fn milliseconds() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: it writes the time into `time`.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// Whether the program has more rights than the user who started it, and so does not trust the environment.
pub(crate) fn has_more_rights() -> bool {
    // SAFETY: it may be called at any time.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Writes to standard error, without allocating.
pub(crate) fn print(text: &[u8]) {
    // SAFETY: the text is readable. What cannot be written is lost.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}
