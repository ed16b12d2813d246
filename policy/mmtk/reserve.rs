// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reservation of the heap's addresses, in all builds.

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
