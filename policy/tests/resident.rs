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
        for touched in [cell, cell + bin.cell_bytes() - 1] {
            // SAFETY: the cell was just handed out.
            unsafe { std::ptr::with_exposed_provenance_mut::<u8>(touched).write(1) };
        }
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
    let (mut mutator, mut live) = (Mutator::default(), Vec::new());
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
    let (mut mutator, mut live) = (Mutator::default(), Vec::new());
    // Nearly everything dies: whole chunks are free, so that hardly more calls than chunks are needed.
    let calls = cycle(&space, &mut mutator, &mut live, 100_000);
    let returned = HEAP_PAGES - space.charged() - space.heap.statistics().dirty_pages;
    assert!(returned > HEAP_PAGES * 9 / 10);
    assert!(calls < returned / 100, "{calls} calls for {returned} pages");
}

#[test]
fn dirty_pages_serve_any_bin_and_large_objects() {
    let space = Space::<Blocks64K>::new(1, usize::MAX);
    let mut mutator = Mutator::default();
    let mut held = |bytes: usize| {
        for _ in 0..(400 << 10) / bytes {
            let cell = space.alloc_object(&mut mutator, bytes);
            cell.expect("the chunk has room");
        }
        space.release(std::iter::once(&mut mutator));
        space.heap.dirty_pages()
    };
    let first = held(64);
    assert!((100..116).contains(&first), "{first} pages for 400 KiB");
    for bytes in [128 << 10, 1000, 20 << 10, 64, 80 << 10] {
        let now = held(bytes);
        assert!(
            now < 120,
            "{now} pages are dirty after objects of {bytes} bytes"
        );
    }
}

#[test]
fn dirty_pages_of_many_blocks_go_back_together() {
    const BLOCKS: usize = 640;
    let space = Space::<Blocks64K>::new(CHUNKS, usize::MAX);
    let mut mutator = Mutator::default();
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

/// The purger holds the pages that it returns and nothing else: no block, and no lock.
#[test]
fn threads_allocate_in_the_midst_of_a_return() {
    let space = Space::<Blocks64K>::new(2, usize::MAX);
    let (mut first, mut second) = (Mutator::default(), Mutator::default());
    let bin = Bin::holding(64);
    (0..CHUNK_BYTES / bin.cell_bytes()).for_each(|_| {
        space.alloc(&mut first, bin).unwrap();
    });
    space.release(std::iter::once(&mut first));
    let mut handed_out = 0;
    let release = |ranges: &[PageRange]| {
        for bytes in [16, 64, 1000, 20 << 10, 100 << 10] {
            let cell = space.alloc_object(&mut second, bytes);
            let cell = cell.expect("there is room");
            let is_apart = |range: &PageRange| {
                cell + bytes <= range.start || range.start + range.pages * PAGE_BYTES <= cell
            };
            assert!(ranges.iter().all(is_apart), "a cell on pages that go");
            handed_out += 1;
        }
    };
    space.heap.purge(release).take(2).for_each(drop);
    assert_eq!(handed_out, 10);
    space.verify([&first, &second].into_iter());
}

#[test]
fn clean_pages_are_left_alone() {
    let space = Space::<Blocks64K>::new(1, Blocks64K::BLOCK_PAGES);
    let mut mutator = Mutator::default();
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
    assert_eq!(returned_without(&[1, 2, 6, 9, 10]), [(2, 1), (6, 1)]);
}

#[test]
fn the_highest_pages_go_back_first() {
    let space = Space::<Blocks64K>::new(4, usize::MAX);
    let mut mutator = Mutator::default();
    let bin = Bin::holding(64);
    (0..CHUNK_BYTES / bin.cell_bytes() * 2).for_each(|_| {
        space.alloc(&mut mutator, bin).unwrap();
    });
    space.release(std::iter::once(&mut mutator));
    let mut batches = Vec::new();
    let release = |ranges: &[PageRange]| batches.extend_from_slice(ranges);
    space.heap.purge(release).take(3).for_each(drop);
    assert!(batches.is_sorted_by(|first, second| first.start > second.start));
    // A thread gets a page that is dirty still: the lowest.
    assert_eq!(space.alloc(&mut mutator, bin), Some(space.base));
}

#[test]
fn pages_that_were_touched_before_are_used_first() {
    let space = Space::<Blocks64K>::new(2, usize::MAX);
    let mut mutator = Mutator::default();
    let bin = Bin::holding(64);
    space.alloc(&mut mutator, bin).unwrap();
    space.release(std::iter::once(&mut mutator));
    space.purge(0, |_| ());
    let touched = std::cell::RefCell::new(Vec::new());
    let touch = |range: PageRange| touched.borrow_mut().push((range.start, range.pages));
    space.heap.pre_touch(100, touch);
    assert_eq!(*touched.borrow(), [(space.base, 100)]);
    assert_eq!(space.heap.dirty_pages(), 100);
    assert_eq!(space.alloc(&mut mutator, bin), Some(space.base));
    space.verify(std::iter::once(&mutator));
}
