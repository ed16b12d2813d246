// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the space asks of the OS: which pages it may drop, which places of 2 MiB are to be one huge page each, and where a
//! thread may run.

use super::TO_THE_USER;
use shardsweep_policy::pages::HUGE_PAGES;
use shardsweep_policy::{PageRange, HUGE_PAGE_BYTES, PAGE_BYTES};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};
use std::{fs, io};

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

/// Has the kernel touch pages that a thread is about to use. Where it cannot be asked to (before Linux 5.14), the thread does.
pub fn populate(range: PageRange) {
    advise(&range, libc::MADV_POPULATE_WRITE).ok();
}

/// Has the kernel make a huge page of a place of one, and touch it. Where it has none to give, it makes small pages. Before Linux 5.14
/// it cannot be asked to touch these: that is done when they are used.
pub fn make_huge_page(place: PageRange) {
    if advise(&place, libc::MADV_HUGEPAGE).is_err() {
        return;
    }
    touch(PageRange { pages: 1, ..place });
    // A touch makes no huge page where small ones are, or were: the kernel may have kept their page table.
    let is_huge =
        is_resident(&place) || gives_huge_pages() && advise(&place, libc::MADV_COLLAPSE).is_ok();
    if !is_huge {
        populate(place);
    }
    // A huge page that was made stays one.
    forbid_huge_pages(place);
}

/// Whether all pages of the place of a huge page are resident.
fn is_resident(place: &PageRange) -> bool {
    resident_pages::<HUGE_PAGES>(place.start) == Some(HUGE_PAGES)
}

/// How many of the `PAGES` pages from `start` on are resident. None where one is not mapped.
pub(super) fn resident_pages<const PAGES: usize>(start: usize) -> Option<usize> {
    let mut pages = [0u8; PAGES];
    let range = PageRange {
        start,
        pages: PAGES,
    };
    let libc::iovec { iov_base, iov_len } = vector(&range);
    // SAFETY: the system writes a byte for each page of the range.
    let told = unsafe { libc::mincore(iov_base, iov_len, pages.as_mut_ptr()) };
    // The lowest bit says whether the page is resident.
    (told == 0).then(|| pages.iter().filter(|&&page| page & 1 != 0).count())
}

/// Has the kernel make a huge page of a place of which pages are in use, and keep what is in them. Returns whether it did: before Linux
/// 6.1 it cannot, it may have none to give, and where the administrator wants none it is not asked.
pub fn collapse(place: PageRange) -> bool {
    if !gives_huge_pages() {
        return false;
    }
    let is_huge =
        advise(&place, libc::MADV_HUGEPAGE).is_ok() && advise(&place, libc::MADV_COLLAPSE).is_ok();
    forbid_huge_pages(place);
    is_huge
}

/// Whether the kernel's setting lets it give huge pages to who asks. `MADV_COLLAPSE` alone does not look at it.
fn gives_huge_pages() -> bool {
    static GIVES: OnceLock<bool> = OnceLock::new();
    *GIVES.get_or_init(|| {
        let setting = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        setting.is_ok_and(|setting| !setting.contains("[never]"))
    })
}

/// Takes one of the huge pages that the administrator has reserved for a place of one, without touching it. Where none is
/// left, the place gets small pages, and the first one says so.
pub fn take_reserved_huge_page(place: PageRange) {
    // The OS would map as much as is huge pages, and so unmap what lies behind the place.
    debug_assert_eq!(place.pages * PAGE_BYTES, HUGE_PAGE_BYTES);
    static TOLD: Once = Once::new();
    let size = HUGE_PAGE_BYTES.ilog2() as libc::c_int;
    keep_policy(&place, || {
        if let Err(error) = map_anew(&place, libc::MAP_HUGETLB | size << libc::MAP_HUGE_SHIFT) {
            TOLD.call_once(|| warn!(target: TO_THE_USER, "the heap goes on with small pages, as no reserved huge page is left: {error}"));
            map_small_pages(place);
        }
    });
}

/// Has `map` map a place anew, whose pages come from the same nodes after that.
fn keep_policy(place: &PageRange, map: impl FnOnce()) {
    let policy = MemoryPolicy::of(place);
    map();
    if let Some(policy) = policy {
        policy.set(place);
    }
}

/// Maps small pages in the place of a huge one that nobody uses.
fn map_small_pages(place: PageRange) {
    // A mapping that fails may have taken away what was there. It has not where the process has as many as it may have (`ENOMEM`).
    if let Err(error) = map_anew(&place, libc::MAP_NORESERVE) {
        assert!(
            resident_pages::<HUGE_PAGES>(place.start).is_some(),
            "the heap cannot be mapped: {error}"
        );
    }
    forbid_huge_pages(place);
}

/// Maps anonymous memory in place of what is mapped in a range that nobody uses.
fn map_anew(range: &PageRange, flags: libc::c_int) -> io::Result<()> {
    let libc::iovec { iov_base, iov_len } = vector(range);
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the range is the heap's, and holds no object.
    match unsafe {
        libc::mmap(
            iov_base,
            iov_len,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0,
        )
    } {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// From which nodes of the system the pages of a range come.
struct MemoryPolicy {
    mode: libc::c_int,
    nodes: [libc::c_ulong; 16],
}

impl MemoryPolicy {
    /// Bits that name nodes, and one that the kernel leaves out.
    const BITS: usize = 16 * libc::c_ulong::BITS as usize + 1;

    /// That of a range, if it is not the system's.
    fn of(range: &PageRange) -> Option<MemoryPolicy> {
        /// `MPOL_F_ADDR`: of an address, not of the thread.
        const OF_ADDRESS: libc::c_int = 2;
        let mut policy = MemoryPolicy {
            mode: libc::MPOL_DEFAULT,
            nodes: [0; 16],
        };
        let address = vector(range).iov_base;
        // SAFETY: the system writes no more than a mode and so many bits. What fails changes nothing.
        unsafe {
            let nodes = policy.nodes.as_mut_ptr();
            libc::syscall(
                libc::SYS_get_mempolicy,
                &mut policy.mode,
                nodes,
                Self::BITS,
                address,
                OF_ADDRESS,
            );
        }
        (policy.mode != libc::MPOL_DEFAULT).then_some(policy)
    }

    /// Makes it that of a range. What fails costs time alone.
    fn set(&self, range: &PageRange) {
        let libc::iovec { iov_base, iov_len } = vector(range);
        // SAFETY: the system reads so many bits, and changes nothing that the program sees.
        unsafe {
            libc::syscall(
                libc::SYS_mbind,
                iov_base,
                iov_len,
                self.mode,
                self.nodes.as_ptr(),
                Self::BITS,
                0,
            )
        };
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
/// lets a process advise itself so (Linux 6.13), since each costs a TLB shootdown; otherwise range
/// by range.
pub fn return_to_os(ranges: &[PageRange]) {
    static TOGETHER: AtomicBool = AtomicBool::new(true);
    if TOGETHER.load(Ordering::Relaxed) && return_together(ranges) {
        return;
    }
    let stay = ranges.iter().filter(|range| !return_range(range)).count();
    // A kernel that takes each alone does not know the call.
    if stay == 0 {
        TOGETHER.store(false, Ordering::Relaxed);
    }
}

/// As [`return_to_os`], where reserved huge pages are among the pages: whole places of those get small ones. What the OS has taken back
/// may not be reserved any more, so that a touch would end the process. Other pages stay.
pub fn return_reserved(ranges: &[PageRange]) {
    for range in ranges {
        let end = range.start + range.pages * PAGE_BYTES;
        let places = range.start.next_multiple_of(HUGE_PAGE_BYTES)..end - end % HUGE_PAGE_BYTES;
        for start in places.step_by(HUGE_PAGE_BYTES) {
            let pages = HUGE_PAGES;
            let place = PageRange { start, pages };
            keep_policy(&place, || map_small_pages(place));
        }
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

/// Whether the pages have been returned.
fn return_range(range: &PageRange) -> bool {
    let returned = advise(range, libc::MADV_DONTNEED);
    if let Err(error) = &returned {
        // Nothing is lost but memory. The system refuses if the pages are locked in memory, for one.
        warn!(
            "{} pages at {:#x} stay resident: {error}",
            range.pages, range.start
        );
    }
    returned.is_ok()
}
