// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where in the address space the heap lies.
//!
//! With compressed oops it starts low and ends at 4 GiB if it fits (narrow oops then are plain
//! addresses), at 32 GiB otherwise (they are shifted by 3); mmtk's spaces share the range, in chunks
//! of 4 MiB. Without, it is mmtk's usual 64-bit layout: a range of its own for each space.

use mmtk::util::heap::vm_layout::VMLayout;
use mmtk::util::Address;
use std::fs;
use std::ops::Range;

const GIB: usize = 1 << 30;
const MIB: usize = 1 << 20;

/// Below lie the executable, the C heap and what the system keeps free.
const COMPRESSED_START: usize = GIB;
const UNSHIFTED_END: usize = 4 * GIB;
const COMPRESSED_END: usize = 32 * GIB;
/// log2 of the steps of shifted narrow oops: the alignment of objects.
const ALIGNMENT_SHIFT: u32 = 3;

/// Address space in which a heap does not run out of it before it runs out of pages: spaces hold
/// whole chunks, and large objects need them in a row. A heap near 31 GiB has to do with less.
const fn address_room(max_heap_size: usize) -> usize {
    max_heap_size
        .saturating_add(max_heap_size / 4)
        .saturating_add(256 * MIB)
}

/// The layout of a heap.
#[derive(Debug)]
pub struct AddressRange {
    /// For mmtk.
    pub layout: VMLayout,
    /// log2 of the bytes that one step of a narrow oop stands for; zero without compressed oops.
    pub narrow_shift: u32,
}

impl AddressRange {
    /// Chooses the range of a heap of at most `max_heap_size` bytes.
    ///
    /// # Errors
    /// If it is too large, or the range is taken: a line that says what to do.
    pub fn choose(compressed: bool, max_heap_size: usize) -> Result<Self, String> {
        if compressed {
            Self::compressed(max_heap_size)
        } else {
            Self::full(max_heap_size)
        }
    }

    fn compressed(max_heap_size: usize) -> Result<Self, String> {
        let end = if address_room(max_heap_size) <= UNSHIFTED_END - COMPRESSED_START {
            UNSHIFTED_END
        } else if max_heap_size <= COMPRESSED_END - COMPRESSED_START {
            COMPRESSED_END
        } else {
            return Err(format!(
                "a heap of {} MiB is too large: at most {} MiB with compressed oops; \
                 use a smaller -Xmx or -XX:-UseCompressedOops",
                max_heap_size / MIB,
                (COMPRESSED_END - COMPRESSED_START) / MIB
            ));
        };
        // SAFETY: two numbers that are addresses.
        let (heap_start, heap_end) = unsafe {
            (
                Address::from_usize(COMPRESSED_START),
                Address::from_usize(end),
            )
        };
        Ok(Self {
            layout: VMLayout {
                // One more than the range needs: mmtk's chunk map wants chunks behind the last usable one.
                log_address_space: COMPRESSED_END.trailing_zeros() as usize + 1,
                heap_start,
                heap_end,
                log_space_extent: 31,
                force_use_contiguous_spaces: false,
            },
            narrow_shift: if end <= UNSHIFTED_END {
                0
            } else {
                ALIGNMENT_SHIFT
            },
        })
    }

    fn full(max_heap_size: usize) -> Result<Self, String> {
        let layout = VMLayout::new_64bit();
        let limit = 1 << layout.log_space_extent;
        if max_heap_size > limit {
            return Err(format!(
                "a heap of {} MiB is too large: at most {} MiB; use a smaller -Xmx",
                max_heap_size / MIB,
                limit / MIB
            ));
        }
        Ok(Self {
            layout,
            narrow_shift: 0,
        })
    }

    /// The first address and the one behind the last.
    pub fn range(&self) -> Range<usize> {
        self.layout.heap_start.as_usize()..self.layout.heap_end.as_usize()
    }

    /// Makes sure that nothing is mapped in the range.
    ///
    /// # Errors
    /// A line that names what is.
    pub fn check_free(&self) -> Result<(), String> {
        // Without the list of mappings, mmtk would find out, less politely.
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        match occupant(&maps, &self.range()) {
            None => Ok(()),
            Some(mapping) => Err(format!(
                "the address range of the heap, {:#x}-{:#x}, is in use: {mapping}",
                self.range().start,
                self.range().end
            )),
        }
    }
}

/// The first line of `maps`, as in `/proc/self/maps`, whose range overlaps `range`.
fn occupant<'a>(maps: &'a str, range: &Range<usize>) -> Option<&'a str> {
    maps.lines().find(|line| {
        let bounds = line
            .split_whitespace()
            .next()
            .and_then(|bounds| bounds.split_once('-'));
        let Some((start, end)) = bounds else {
            return false;
        };
        let parse = |text| usize::from_str_radix(text, 16);
        matches!((parse(start), parse(end)), (Ok(start), Ok(end))
            if start < range.end && range.start < end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_heaps_need_no_shift() {
        let small = AddressRange::choose(true, 2 * GIB).unwrap();
        assert_eq!((small.range(), small.narrow_shift), (GIB..4 * GIB, 0));
        let large = AddressRange::choose(true, 2 * GIB + 400 * MIB).unwrap();
        assert_eq!((large.range(), large.narrow_shift), (GIB..32 * GIB, 3));
    }

    #[test]
    fn the_limit_that_the_error_names_is_the_limit() {
        let limit = COMPRESSED_END - COMPRESSED_START;
        assert!(AddressRange::choose(true, limit).is_ok());
        let error = AddressRange::choose(true, limit + 2 * MIB).unwrap_err();
        assert!(
            error.contains(&format!("at most {} MiB", limit / MIB)),
            "{error}"
        );
        assert!(error.contains("-XX:-UseCompressedOops"), "{error}");
    }

    #[test]
    fn without_compressed_oops() {
        let range = AddressRange::choose(false, 64 * GIB).unwrap();
        assert!(range.layout.force_use_contiguous_spaces);
        assert!(range.range().start > COMPRESSED_END);
        assert!(AddressRange::choose(false, usize::MAX).is_err());
    }

    #[test]
    fn occupied_ranges() {
        let maps = "00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/one\n\
                    40000000-40001000 rw-p 00000000 00:00 0 [heap]\n\
                    7f0000000000-7f0000001000 ---p 00000000 00:00 0\n";
        assert_eq!(occupant(maps, &(0x40001000..0x50000000)), None);
        assert_eq!(occupant(maps, &(0x452000..0x40000000)), None);
        assert!(occupant(maps, &(0x452000..0x40000001))
            .unwrap()
            .ends_with("[heap]"));
        assert!(occupant(maps, &(0x451fff..0x452000))
            .unwrap()
            .ends_with("one"));
    }
}
