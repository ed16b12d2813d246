// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the parts of the allocator cost: the pop, the refill by growth, by sweep and by adoption, and
//! the release of a chunk. `cargo bench --features bench --bench policy`.
#![allow(missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Mutator, Numbers, Space};
use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use shardsweep_policy::*;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

const CHUNKS: usize = 8;
const OBJECT: usize = 48;

/// A heap that is full of objects of `OBJECT` bytes, with their addresses. Threads share blocks from half of `limit` pages on.
fn full<C: Config>(limit: usize) -> (Space<C>, Mutator, Vec<usize>) {
    let space = Space::new(CHUNKS, limit);
    let mut mutator = Mutator::default();
    let bin = Bin::holding(OBJECT);
    let cells = std::iter::from_fn(|| space.alloc(&mut mutator, bin)).collect();
    (space, mutator, cells)
}

fn name<C: Config>(what: &str) -> String {
    let suffix = match C::ACCOUNTING {
        Accounting::Page => "",
        Accounting::Block => "-block",
    };
    format!("{what}/{}k{suffix}", C::BLOCK_BYTES >> 10)
}

/// Fills the heap over and over, from empty (growth alone) and from half full (sweeping alone), in the latter case also where
/// threads share blocks. One element is one object, and the time holds no collection.
fn allocate<C: Config>(criterion: &mut Criterion) {
    let pages = CHUNKS * CHUNK_BYTES / PAGE_BYTES;
    for (what, limit, survivors) in [
        ("grow", usize::MAX, 0),
        ("sweep half", usize::MAX, 1),
        ("share half", pages, 1),
    ] {
        let (space, mut mutator, cells) = full::<C>(limit);
        let mut numbers = Numbers(1);
        let live: Vec<_> = cells
            .iter()
            .copied()
            .filter(|_| numbers.below(2) < survivors)
            .collect();
        space.mark(live.iter().copied());
        let mut group = criterion.benchmark_group("allocate");
        group.sample_size(10);
        group.throughput(Throughput::Elements((cells.len() - live.len()) as u64));
        group.bench_function(name::<C>(what), |bencher| {
            bencher.iter_custom(|fills| (0..fills).map(|_| fill(&space, &mut mutator)).sum());
        });
        group.finish();
    }
}

/// The time that it takes to fill what the last marks leave free.
fn fill<C: Config>(space: &Space<C>, mutator: &mut Mutator) -> Duration {
    space.release(std::iter::once(&mut *mutator));
    let start = Instant::now();
    while let Some(cell) = space.alloc(mutator, Bin::holding(OBJECT)) {
        black_box(cell);
    }
    start.elapsed()
}

/// The parts of the fast path that are not in memory traffic.
fn pop(criterion: &mut Criterion) {
    let sizes = [16, 24, 40, 72, 120, 264, 1040, 5000];
    criterion.bench_function("bin of a variable size", |bencher| {
        let mut at = 0;
        bencher.iter(|| {
            at = (at + 1) % sizes.len();
            Bin::holding(black_box(sizes[at]))
        });
    });
    criterion.bench_function("pop from empty heads", |bencher| {
        let mut heads = Heads::default();
        bencher.iter(|| black_box(&mut heads).pop(Bin::holding(OBJECT)));
    });
}

/// The policy's own work at the end of a collection.
fn release<C: Config>(criterion: &mut Criterion) {
    let (space, mut mutator, cells) = full::<C>(usize::MAX);
    let mut numbers = Numbers(1);
    space.mark(cells.iter().copied().filter(|_| numbers.below(3) == 0));
    let mut group = criterion.benchmark_group("release");
    group
        .sample_size(20)
        .throughput(Throughput::Bytes((CHUNKS * CHUNK_BYTES) as u64));
    group.bench_function(name::<C>("chunks"), |bencher| {
        bencher.iter(|| {
            space.heap.begin_release(Scope::Full);
            let chunks: Vec<Chunk> = space.heap.chunks().collect();
            black_box(space.heap.release_chunks(&chunks, Scope::Full));
        });
    });
    group.bench_function(name::<C>("chunks of garbage"), |bencher| {
        bencher.iter_custom(|times| {
            (0..times)
                .map(|_| release_garbage(&space, &mut mutator))
                .sum()
        });
    });
    group.finish();
}

/// The time that it takes to release blocks in use that hold no live cell, as most do in a large heap.
fn release_garbage<C: Config>(space: &Space<C>, mutator: &mut Mutator) -> Duration {
    space.mark(std::iter::empty());
    fill(space, mutator);
    let start = Instant::now();
    space.release(std::iter::once(mutator));
    start.elapsed()
}

/// Large objects above chunks in which no free run is long enough: one element is one object of 400 KiB.
fn large(criterion: &mut Criterion) {
    const SPLIT: usize = 64;
    const OBJECT_PAGES: NonZeroUsize = NonZeroUsize::new(100).unwrap();
    let space = Space::<Blocks64K>::new(SPLIT + 4, usize::MAX);
    let mut mutator = Mutator::default();
    let cells: Vec<_> =
        std::iter::from_fn(|| space.alloc_large(&mut mutator, NonZeroUsize::MIN)).collect();
    let lowest = cells.iter().min().unwrap();
    let split = |cell: &usize| {
        (cell - lowest) < SPLIT * CHUNK_BYTES && (cell - lowest) / PAGE_BYTES % 64 == 0
    };
    let live: Vec<_> = cells.iter().copied().filter(split).collect();
    let mut time = |_| {
        space.mark(live.iter().copied());
        space.release(std::iter::once(&mut mutator));
        let start = Instant::now();
        while let Some(object) = space.alloc_large(&mut mutator, OBJECT_PAGES) {
            black_box(object);
        }
        start.elapsed()
    };
    let mut group = criterion.benchmark_group("allocate");
    group.sample_size(10);
    group.throughput(Throughput::Elements(40));
    group.bench_function("large", |bencher| {
        bencher.iter_custom(|times| (0..times).map(&mut time).sum());
    });
    group.finish();
}

fn all(criterion: &mut Criterion) {
    large(criterion);
    pop(criterion);
    allocate::<Blocks4K>(criterion);
    allocate::<Blocks64K>(criterion);
    allocate::<Blocks64KByBlock>(criterion);
    release::<Blocks4K>(criterion);
    release::<Blocks64K>(criterion);
    release::<Blocks64KByBlock>(criterion);
}

criterion_group!(benches, all);
criterion_main!(benches);
