// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where in the address space the heap lies.
//!
//! With compressed oops it ends at 4 GiB if there is room below for eight times the heap (narrow oops then are plain
//! addresses), else at 32 GiB (they are shifted by 3), else it lies above (they are shifted by 3 and have a base, which is
//! HotSpot's HeapBased mode); mmtk's spaces share the range, in chunks of 4 MiB. Where libraries lie in it, the heap has the widest gap between them. Without compressed oops, it is mmtk's
//! usual 64-bit layout: a range of its own for each space.
//!
//! The range is reserved before the heap is made, so that what others map later lies elsewhere. Where the process has a limit of
//! address space, the range is no wider than a quarter of it, unless the heap needs more.

use mmtk::util::heap::vm_layout::VMLayout;
use mmtk::util::Address;
use std::fs;
use std::ops::Range;

const GIB: usize = 1 << 30;
const MIB: usize = 1 << 20;
const CHUNK: usize = 4 * MIB;

/// Below lie the executable, the C heap and what the system keeps free.
const COMPRESSED_START: usize = GIB;
const UNSHIFTED_END: usize = 4 * GIB;
const COMPRESSED_END: usize = 32 * GIB;
/// Where a heap with a base may lie: above what HotSpot maps at 32 GiB for classes.
const BASED: Range<usize> = 64 * GIB..1024 * GIB;
/// log2 of the steps of shifted narrow oops: the alignment of objects.
const ALIGNMENT_SHIFT: u32 = 3;

/// The largest heap with compressed oops: what narrow oops reach, but for the chunk at their base.
const MAX_COMPRESSED: usize = COMPRESSED_END - CHUNK;

/// A range below 4 GiB is of so many times the heap. Objects do not move: large ones that are larger than all gaps between live
/// objects need addresses behind them, however little is alive. Three times the heap is too few for `Fragmentation gaps`.
const UNSHIFTED_FACTOR: usize = 8;

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
    /// What narrow oops are counted from. Zero, or the address of a chunk that is never accessible, in front of the heap: the
    /// null of narrow oops is an address in it.
    pub narrow_base: usize,
    /// log2 of the bytes that one step of a narrow oop stands for; zero without compressed oops.
    pub narrow_shift: u32,
}

impl AddressRange {
    /// Chooses the range of a heap of at most `max_heap_size` bytes among what is not mapped now, from `min_address` on.
    ///
    /// # Errors
    /// If it is too large, or the range is taken: a line that says what to do.
    pub fn choose(
        compressed: bool,
        max_heap_size: usize,
        min_address: usize,
    ) -> Result<Self, String> {
        // Without the list of mappings, the reservation finds out.
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        if compressed {
            let mut chosen = Self::compressed(max_heap_size, min_address, &maps)?;
            if let Some(limit) = mmtk::reserve::address_space_limit() {
                chosen.narrow_to(address_room(max_heap_size).max(limit / 4));
            }
            Ok(chosen)
        } else {
            Self::full(max_heap_size)
        }
    }

    fn compressed(max_heap_size: usize, min_address: usize, maps: &str) -> Result<Self, String> {
        if max_heap_size > MAX_COMPRESSED {
            return Err(format!(
                "a heap of {} MiB is too large: at most {} MiB with compressed oops; \
                 use a smaller -Xmx or -XX:-UseCompressedOops",
                max_heap_size / MIB,
                MAX_COMPRESSED / MIB
            ));
        }
        let room = address_room(max_heap_size);
        let start = COMPRESSED_START.max(min_address.next_multiple_of(CHUNK));
        let unshifted = widest_gap(maps, start..UNSHIFTED_END);
        if unshifted.len() >= room.max(max_heap_size.saturating_mul(UNSHIFTED_FACTOR)) {
            return Ok(Self::shared(unshifted, 0, 0));
        }
        let shifted = widest_gap(maps, start..COMPRESSED_END);
        let wanted = room.min(COMPRESSED_END - COMPRESSED_START);
        if shifted.len() >= wanted.max(max_heap_size) {
            return Ok(Self::shared(shifted, 0, ALIGNMENT_SHIFT));
        }
        Self::based(room.min(MAX_COMPRESSED), min_address, maps).ok_or_else(|| {
            format!(
                "{} MiB of addresses in a row are needed below {} GiB for a heap of {} MiB with compressed oops; \
                 use a smaller -Xmx or -XX:-UseCompressedOops",
                room.min(MAX_COMPRESSED) / MIB,
                BASED.end / GIB,
                max_heap_size / MIB
            )
        })
    }

    /// A range of `room` bytes or more, and a chunk in front of it, anywhere above what narrow oops without a base reach.
    fn based(room: usize, min_address: usize, maps: &str) -> Option<Self> {
        let start = BASED.start.max(min_address.next_multiple_of(CHUNK));
        let gap = widest_gap(maps, start..BASED.end);
        let range = gap.start + CHUNK..gap.end.min(gap.start + COMPRESSED_END);
        (range.len() >= room).then(|| Self::shared(range, gap.start, ALIGNMENT_SHIFT))
    }

    /// A range that spaces share.
    fn shared(range: Range<usize>, narrow_base: usize, narrow_shift: u32) -> Self {
        let reach = if narrow_base == 0 {
            COMPRESSED_END
        } else {
            BASED.end
        };
        // SAFETY: two numbers that are addresses.
        let (heap_start, heap_end) = unsafe {
            (
                Address::from_usize(range.start),
                Address::from_usize(range.end),
            )
        };
        Self {
            layout: VMLayout {
                // One more than the range needs: mmtk's chunk map wants chunks behind the last usable one.
                log_address_space: reach.trailing_zeros() as usize + 1,
                heap_start,
                heap_end,
                log_space_extent: 31,
                force_use_contiguous_spaces: false,
            },
            narrow_base,
            narrow_shift,
        }
    }

    /// Leaves out what is beyond the first `bytes` bytes, rounded up to chunks.
    fn narrow_to(&mut self, bytes: usize) {
        let end = self.layout.heap_start + bytes.next_multiple_of(CHUNK);
        self.layout.heap_end = self.layout.heap_end.min(end);
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
            narrow_base: 0,
            narrow_shift: 0,
        })
    }

    /// The first address and the one behind the last.
    pub fn range(&self) -> Range<usize> {
        self.layout.heap_start.as_usize()..self.layout.heap_end.as_usize()
    }

    /// Reserves the range, where spaces share one; mmtk reserves those of single spaces. It has nothing to do for a
    /// library that maps the heap's memory itself.
    ///
    /// # Errors
    /// A line that says why the system does not give it.
    pub fn reserve(&self) -> Result<(), String> {
        if self.layout.force_use_contiguous_spaces || cfg!(feature = "malloc-libc") {
            return Ok(());
        }
        let range = self.range();
        let start = match self.narrow_base {
            0 => range.start,
            base => base,
        };
        mmtk::reserve::reserve(start..range.end)
    }
}

/// The longest range of whole chunks in `range` in which `maps`, as in `/proc/self/maps`, has nothing.
fn widest_gap(maps: &str, range: Range<usize>) -> Range<usize> {
    let mapped = maps.lines().filter_map(|line| {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        let parse = |text| usize::from_str_radix(text, 16).ok();
        Some(parse(start)?..parse(end)?)
    });
    let behind = std::iter::once(range.end..range.end);
    let (mut widest, mut from) = (range.start..range.start, range.start);
    for taken in mapped.chain(behind) {
        let end = (taken.start & !(CHUNK - 1)).min(range.end);
        if end > from && end - from > widest.len() {
            widest = from..end;
        }
        from = from.max(taken.end.next_multiple_of(CHUNK));
    }
    widest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_heaps_need_no_shift() {
        let small = AddressRange::compressed(384 * MIB, 0, "").unwrap();
        assert_eq!((small.range(), small.narrow_shift), (GIB..4 * GIB, 0));
        let large = AddressRange::compressed(385 * MIB, 0, "").unwrap();
        assert_eq!((large.range(), large.narrow_shift), (GIB..32 * GIB, 3));
    }

    #[test]
    fn a_narrow_range_has_whole_chunks_of_the_wide_one() {
        let mut range = AddressRange::compressed(64 * MIB, 0, "").unwrap();
        range.narrow_to(2 * GIB - 1);
        assert_eq!(range.range(), GIB..3 * GIB);
        range.narrow_to(8 * GIB);
        assert_eq!(range.range(), GIB..3 * GIB);
    }

    #[test]
    fn the_limit_that_the_error_names_is_the_limit() {
        let limit = MAX_COMPRESSED;
        assert!(AddressRange::compressed(limit, 0, "").is_ok());
        let error = AddressRange::compressed(limit + 2 * MIB, 0, "").unwrap_err();
        assert!(
            error.contains(&format!("at most {} MiB", limit / MIB)),
            "{error}"
        );
        assert!(error.contains("-XX:-UseCompressedOops"), "{error}");
    }

    #[test]
    fn without_compressed_oops() {
        let range = AddressRange::choose(false, 64 * GIB, 0).unwrap();
        assert!(range.layout.force_use_contiguous_spaces);
        assert!(range.range().start > COMPRESSED_END);
        assert!(AddressRange::choose(false, usize::MAX, 0).is_err());
    }

    #[test]
    fn the_heap_lies_between_what_is_mapped() {
        let maps = "00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/one\n\
                    40001000-40002000 rw-p 00000000 00:00 0 [heap]\n\
                    c0000000-c0001000 rw-p 00000000 00:00 0\n\
                    7f0000000000-7f0000001000 ---p 00000000 00:00 0\n";
        let low = GIB + 4 * MIB..3 * GIB;
        assert_eq!(widest_gap(maps, GIB..4 * GIB), low);
        let range = |heap| AddressRange::compressed(heap, 0, maps).map(|chosen| chosen.range());
        assert_eq!(range(200 * MIB), Ok(low));
        assert_eq!(range(2 * GIB), Ok(3 * GIB + 4 * MIB..32 * GIB));
        assert_eq!(
            range(30 * GIB),
            Ok(BASED.start + CHUNK..BASED.start + 32 * GIB)
        );
    }

    #[test]
    fn a_heap_with_a_base_lies_where_it_is_wanted_and_narrow_oops_reach_all_of_it() {
        let based = AddressRange::compressed(GIB, 100 * GIB, "").unwrap();
        assert_eq!((based.narrow_base, based.narrow_shift), (100 * GIB, 3));
        assert_eq!(based.range().start, 100 * GIB + CHUNK);
        for heap in [GIB, MAX_COMPRESSED] {
            let chosen = AddressRange::compressed(heap, 40 * GIB, "").unwrap();
            assert_eq!(chosen.narrow_base, BASED.start);
            assert_eq!(chosen.range().end - chosen.narrow_base, 32 * GIB);
        }
        let error = AddressRange::compressed(GIB, BASED.end, "").unwrap_err();
        assert!(error.contains("-XX:-UseCompressedOops"), "{error}");
    }
}
