// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the space asks of the OS: which pages it may drop, which places of 2 MiB are to be one huge page each, and where a
//! thread may run.

use shardsweep_policy::{PageRange, PAGE_BYTES};
use std::io;
use std::sync::OnceLock;

/// Ranges that the kernel takes at a time (its `UIO_MAXIOV`).
const RANGES_PER_CALL: usize = 1024;

/// Keeps the OS from making huge pages in a range on its own, whatever the system's default. One touch would make pages
/// resident that are not charged, and the kernel's `khugepaged` would fill again what has been purged.
pub fn forbid_huge_pages(range: PageRange) {
    // What fails costs memory alone: a kernel without huge pages does not know the advice.
    advise(&range, libc::MADV_NOHUGEPAGE).ok();
}

/// Makes pages resident that nobody uses.
pub fn touch(range: PageRange) {
    if advise(&range, libc::MADV_POPULATE_WRITE).is_err() {
        for page in 0..range.pages {
            let page = range.start + page * PAGE_BYTES;
            // SAFETY: the page is mapped and holds no object.
            unsafe { std::ptr::with_exposed_provenance_mut::<u8>(page).write_volatile(0) };
        }
    }
}

/// Has the kernel make a huge page of a place of one, and touch it. Where it has none to give, it makes small pages; where it
/// cannot be asked to touch them (before Linux 5.14), they are touched when they are used.
pub fn make_huge_page(place: PageRange) {
    if advise(&place, libc::MADV_HUGEPAGE).is_ok() {
        advise(&place, libc::MADV_POPULATE_WRITE).ok();
        // A huge page that was made stays one.
        forbid_huge_pages(place);
    }
}

/// Has the calling thread run on each processor that the first thread of the process may run on.
pub fn run_anywhere() {
    // SAFETY: all zero is an empty set; the system reads and writes no more than its size. What fails changes nothing.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(libc::getpid(), size_of_val(&set), &mut set) == 0 {
            libc::sched_setaffinity(0, size_of_val(&set), &set);
        }
    }
}

fn advise(range: &PageRange, advice: libc::c_int) -> io::Result<()> {
    let libc::iovec { iov_base, iov_len } = vector(range);
    // SAFETY: the pages are mapped, and callers advise only what changes no cell that is in use.
    match unsafe { libc::madvise(iov_base, iov_len, advice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives pages back to the OS, which zeroes them when they are touched again: in one system call if the kernel
/// lets a process advise itself so (Linux 6.13), since each makes all processors forget what they know of the
/// address space; otherwise range by range.
pub fn return_to_os(ranges: &[PageRange]) {
    if !return_together(ranges) {
        ranges.iter().for_each(return_range);
    }
}

/// Whether all pages have been returned.
fn return_together(ranges: &[PageRange]) -> bool {
    ranges.chunks(RANGES_PER_CALL).all(|some| {
        let vectors: Vec<libc::iovec> = some.iter().map(vector).collect();
        let bytes: usize = vectors.iter().map(|vector| vector.iov_len).sum();
        // SAFETY: as in `return_range`, for each range.
        let returned = unsafe {
            libc::syscall(
                libc::SYS_process_madvise,
                own_process(),
                vectors.as_ptr(),
                vectors.len(),
                libc::MADV_DONTNEED,
                0,
            )
        };
        usize::try_from(returned) == Ok(bytes)
    })
}

/// A file descriptor of this process; negative if the kernel has none.
fn own_process() -> libc::c_long {
    static OWN_PROCESS: OnceLock<libc::c_long> = OnceLock::new();
    // SAFETY: this opens a file, which children do not inherit if they execute another program.
    let open = || unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
    *OWN_PROCESS.get_or_init(open)
}

fn vector(range: &PageRange) -> libc::iovec {
    libc::iovec {
        iov_base: std::ptr::with_exposed_provenance_mut(range.start),
        iov_len: range.pages * PAGE_BYTES,
    }
}

fn return_range(range: &PageRange) {
    if let Err(error) = advise(range, libc::MADV_DONTNEED) {
        // Nothing is lost but memory. The system refuses if the pages are locked in memory, for one.
        warn!(
            "{} pages at {:#x} stay resident: {error}",
            range.pages, range.start
        );
    }
}
