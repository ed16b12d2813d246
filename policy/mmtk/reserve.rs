// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is reserved of the address space, in all builds: the heap's range, and that of side metadata unless the process has a limit.

use crate::util::constants::LOG_BYTES_IN_PAGE;
use crate::util::os::{HugePageSupport, MmapAnnotation};
use crate::util::Address;
use crate::MMAPPER;
use std::ops::Range;

/// Reserves a range of whole chunks in which nothing is mapped. Spaces get their memory from it, and nobody else can.
/// To be called before the heap is made.
///
/// # Errors
/// A line that says why the system refuses.
pub fn reserve(range: Range<usize>) -> Result<(), String> {
    // SAFETY: a number that is an address.
    let start = unsafe { Address::from_usize(range.start) };
    let pages = range.len() >> LOG_BYTES_IN_PAGE;
    let annotation = MmapAnnotation::Misc { name: "heap" };
    let reserved = MMAPPER.quarantine_address_range(start, pages, HugePageSupport::No, &annotation);
    reserved.map_err(|error| {
        let (start, end, reason) = (range.start, range.end, error.error);
        format!("the address range of the heap, {start:#x}-{end:#x}, cannot be reserved: {reason}")
    })
}

/// Where side metadata lies when it is not reserved: far from all that the system chooses addresses for, and from the heap.
const METADATA_BASE: usize = 64 << 40;

/// Address space below this has no room for the some 15 TiB that the crate reserves for the metadata of all addresses.
const SCARCE_BYTES: u64 = 32 << 40;

/// How many bytes of address space the process may have (`ulimit -v`); none if there is no limit that matters here.
pub fn address_space_limit() -> Option<usize> {
    // SAFETY: room for the limits, which all zeros are too.
    let limits = unsafe {
        let mut limits: libc::rlimit = std::mem::zeroed();
        (libc::getrlimit(libc::RLIMIT_AS, &mut limits) == 0).then_some(limits)
    };
    let bytes = limits?.rlim_cur;
    (bytes < SCARCE_BYTES).then_some(bytes as usize)
}

/// The base of side metadata that is mapped where it is needed, without a reservation; none where all of it can be reserved.
pub(crate) fn unreserved_metadata() -> Option<Address> {
    // SAFETY: a number that is an address.
    address_space_limit().map(|_| unsafe { Address::from_usize(METADATA_BASE) })
}
