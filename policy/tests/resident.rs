// SPDX-License-Identifier: MIT OR Apache-2.0
//! Honest memory, by the kernel's own count: what is not charged is not held.
#![cfg(all(target_os = "linux", not(loom), not(miri)))]

mod common;

use common::{Mutator, Numbers, Space};
use shardsweep_policy::*;

const CHUNKS: usize = 16;
const HEAP_PAGES: usize = 40 << 8;
/// max(1 MiB, 5 % of the heap), in pages.
const SLACK: usize = if HEAP_PAGES / 20 > 256 {
    HEAP_PAGES / 20
} else {
    256
};

/// Pages of the space that are resident, from mincore(2).
fn resident<C: Config>(space: &Space<C>) -> usize {
    let mut pages = vec![0u8; CHUNKS * CHUNK_BYTES / PAGE_BYTES];
    let start = std::ptr::with_exposed_provenance_mut(space.base);
    // SAFETY: the range is mapped, and the vector has a byte for each of its pages.
    let failed = unsafe { libc::mincore(start, CHUNKS * CHUNK_BYTES, pages.as_mut_ptr()) };
    assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
    pages.iter().filter(|&&page| page & 1 != 0).count()
}

/// Keeps transparent huge pages away, which would make pages resident that nobody touched.
fn without_huge_pages<C: Config>(space: &Space<C>) {
    advise(space.base, CHUNKS * CHUNK_BYTES, libc::MADV_NOHUGEPAGE);
}

fn advise(start: usize, bytes: usize, advice: libc::c_int) {
    // SAFETY: the range belongs to the space, and holds no object if it is given back.
    let failed =
        unsafe { libc::madvise(std::ptr::with_exposed_provenance_mut(start), bytes, advice) };
    assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
}

/// Fills the heap, lets all but every `stride`th object die, and collects; returns the number of
/// system calls.
fn cycle<C: Config>(
    space: &Space<C>,
    mutator: &mut Mutator,
    live: &mut Vec<(usize, usize)>,
    stride: usize,
) -> usize {
    let mut numbers = Numbers(stride as u64);
    loop {
        let bin = C::bin(16 + 8 * numbers.below(60), 8).unwrap();
        let Some(cell) = space.alloc(mutator, bin) else {
            break;
        };
        live.push((cell, bin.cell_bytes()));
    }
    live.retain(|_| numbers.below(stride) == 0);
    space.mark(live.iter().map(|&(cell, _)| cell));
    space.release(std::iter::once(mutator));
    let mut calls = 0;
    space.purge(SLACK, |range| {
        advise(range.start, range.pages * PAGE_BYTES, libc::MADV_DONTNEED);
        calls += 1;
    });
    calls
}

fn run<C: Config>() {
    let space = Space::<C>::new(CHUNKS, HEAP_PAGES);
    without_huge_pages(&space);
    let (mut mutator, mut live) = (Mutator::new(1), Vec::new());
    for stride in [2, 50, 1000, 3, 400, 20_000, 10] {
        cycle(&space, &mut mutator, &mut live, stride);
        let (resident, charged) = (resident(&space), space.charged());
        assert!(
            resident <= charged + SLACK,
            "{resident} pages are resident, {charged} charged"
        );
        let mut pages: Vec<_> = live
            .iter()
            .flat_map(|&(cell, size)| cell / PAGE_BYTES..=(cell + size - 1) / PAGE_BYTES)
            .collect();
        pages.sort_unstable();
        pages.dedup();
        assert!(pages.len() <= resident, "live pages are resident");
        if C::ACCOUNTING == Accounting::Page {
            assert_eq!(pages.len(), charged, "exactly the live pages are charged");
        }
    }
}

#[test]
fn uncharged_pages_are_not_held() {
    run::<Blocks<12, false>>();
    run::<Blocks<16, false>>();
    run::<Blocks<18, false>>();
    run::<Blocks<16, true>>();
}

#[test]
fn pages_go_back_in_batches() {
    let space = Space::<Blocks64K>::new(CHUNKS, HEAP_PAGES);
    let (mut mutator, mut live) = (Mutator::new(1), Vec::new());
    // Nearly everything dies: whole chunks are free, so that hardly more calls than chunks are needed.
    let calls = cycle(&space, &mut mutator, &mut live, 100_000);
    let returned = HEAP_PAGES - space.charged() - space.heap.statistics().dirty_pages;
    assert!(returned > HEAP_PAGES * 9 / 10);
    assert!(calls < returned / 100, "{calls} calls for {returned} pages");
}

#[test]
fn a_bin_takes_blocks_of_whose_dirty_pages_it_has_use() {
    let space = Space::<Blocks64K>::new(1, usize::MAX);
    let mut mutator = Mutator::new(1);
    let mut held = |sizes: [usize; 2]| {
        for bin in sizes.map(Bin::holding) {
            for _ in 0..8 * (Blocks64K::BLOCK_BYTES / bin.cell_bytes()) {
                space.alloc(&mut mutator, bin).unwrap();
            }
        }
        let held = space.charged() + space.heap.dirty_pages();
        space.release(std::iter::once(&mut mutator));
        held
    };
    // A cell of 45 KiB fills 12 pages of a block, those of 64 bytes all 16.
    assert_eq!(held([45 << 10, 64]), 8 * (12 + 16));
    assert_eq!(held([64, 45 << 10]), 8 * (12 + 16));
}

#[test]
fn dirty_pages_of_many_blocks_go_back_together() {
    const BLOCKS: usize = 640;
    let space = Space::<Blocks64K>::new(CHUNKS, usize::MAX);
    let mut mutator = Mutator::new(1);
    let bin = Bin::holding(64);
    let cells = BLOCKS * (Blocks64K::BLOCK_BYTES / bin.cell_bytes());
    let cells: Vec<usize> = (0..cells)
        .map(|_| space.alloc(&mut mutator, bin).unwrap())
        .collect();
    let survives = |cell: &usize| cell / PAGE_BYTES % Blocks64K::BLOCK_PAGES != 1;
    space.mark(cells.into_iter().filter(survives));
    space.release(std::iter::once(&mut mutator));
    assert_eq!(space.heap.dirty_pages(), BLOCKS, "a page of each block");
    let mut batches = Vec::new();
    let release = |ranges: &[PageRange]| batches.push(ranges.len());
    space.heap.purge(release).for_each(drop);
    assert_eq!(batches, [256, 256, 128]);
}

#[test]
fn closed_pages_that_are_clean_are_left_alone() {
    let space = Space::<Blocks64K>::new(1, usize::MAX);
    let mut mutator = Mutator::new(1);
    let bin = Bin::holding(64);
    let cells: Vec<usize> = (0..Blocks64K::BLOCK_BYTES / bin.cell_bytes())
        .map(|_| space.alloc(&mut mutator, bin).unwrap())
        .collect();
    let page = |address: usize| address / PAGE_BYTES % Blocks64K::BLOCK_PAGES;
    let mut returned_without = |dead: &[usize]| {
        let survives = |cell: &usize| !dead.contains(&page(*cell));
        space.mark(cells.iter().copied().filter(survives));
        space.release(std::iter::once(&mut mutator));
        let mut pages = Vec::new();
        let release = |ranges: &[PageRange]| {
            pages.extend(ranges.iter().map(|range| (page(range.start), range.pages)));
        };
        space.heap.purge(release).for_each(drop);
        pages
    };
    assert_eq!(returned_without(&[1, 9, 10]), [(1, 1), (9, 2)]);
    // Page 1 is returned once more with its neighbour, in one range.
    assert_eq!(returned_without(&[1, 2, 6, 9, 10]), [(1, 2), (6, 1)]);
}

#[test]
fn what_no_thread_had_use_for_goes_back_first() {
    // Just enough for a batch of 256 pages.
    const BLOCKS: usize = 18;
    let space = Space::<Blocks64K>::new(1, usize::MAX);
    let mut mutator = Mutator::new(1);
    let [idle, busy] = [64, 128].map(Bin::holding);
    let cells = |bin: Bin| BLOCKS * (Blocks64K::BLOCK_BYTES / bin.cell_bytes());
    let alloc = |mutator: &mut Mutator, bin: Bin, count: usize| -> Vec<usize> {
        (0..count)
            .map(|_| space.alloc(mutator, bin).unwrap())
            .collect()
    };
    // One object stays in each block, so that all but its page become dirty; then one bin uses them again.
    let mut live = alloc(&mut mutator, idle, cells(idle));
    live.extend(alloc(&mut mutator, busy, cells(busy)));
    live.retain(|cell| cell % Blocks64K::BLOCK_BYTES == 0);
    let collect = |mutator: &mut Mutator| {
        space.mark(live.iter().copied());
        space.release(std::iter::once(mutator));
    };
    collect(&mut mutator);
    alloc(&mut mutator, busy, cells(busy) - BLOCKS);
    collect(&mut mutator);
    let mut returned = Vec::new();
    let any_dirty = |&any_dirty: &bool| any_dirty;
    let release = |ranges: &[PageRange]| returned.extend_from_slice(ranges);
    assert_eq!(space.heap.purge(release).find(any_dirty), Some(true));
    let pages: usize = returned.iter().map(|range| range.pages).sum();
    assert_eq!(pages, BLOCKS * (Blocks64K::BLOCK_PAGES - 1));
    let bin = |range: &PageRange| space.heap.block_at(range.start).unwrap().bin();
    assert!(returned.iter().all(|range| bin(range) == idle));
}
