// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that allocate, adopt and exit at the same time, one that returns free pages meanwhile, and collectors that work in parallel.
#![cfg(not(loom))]

mod common;

use common::{Mutator, Numbers, Space};
use shardsweep_policy::*;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const MUTATORS: usize = 4;
const LIMIT: usize = 900;

/// Words of the smallest large object.
const LARGE_WORDS: usize = 20 * PAGE_BYTES / size_of::<usize>();

/// What the OS is said to leave in a page that it has taken back.
const RETURNED: usize = 0xdead;

/// An object, filled with one value.
#[derive(Clone)]
struct Object {
    cell: usize,
    words: usize,
    value: usize,
}

type Objects = Vec<Object>;

fn words(address: usize, count: usize) -> impl Iterator<Item = *mut usize> {
    let first: *mut usize = std::ptr::with_exposed_provenance_mut(address);
    (0..count).map(move |index| first.wrapping_add(index))
}

impl Object {
    fn new(cell: usize, words: usize, seed: usize) -> Self {
        let value = cell ^ seed;
        // SAFETY: the cell was just handed out, with room for so many words.
        self::words(cell, words).for_each(|word| unsafe { word.write(value) });
        Object { cell, words, value }
    }

    fn verify(&self) {
        for word in words(self.cell, self.words) {
            // SAFETY: the object lives.
            let now = unsafe { word.read() };
            assert_eq!(now, self.value, "an object was overwritten");
        }
    }
}

/// Allocates until the heap is full or enough was done; some threads exit on the way and start anew.
fn mutate<C: Config>(space: &Space<C>, mutator: &mut Mutator, objects: &mut Objects, seed: usize) {
    let mut numbers = Numbers(seed as u64);
    for turn in 0..if cfg!(miri) { 12 } else { 6000 } {
        let words = if turn % 500 == 8 {
            // Larger than any cell, but for blocks of 256 KiB.
            LARGE_WORDS + numbers.below(LARGE_WORDS)
        } else {
            1 + numbers.below(if turn % 9 == 0 { 256 } else { 16 })
        };
        let Some(cell) = space.alloc_object(mutator, 8 * words) else {
            break;
        };
        objects.push(Object::new(cell, words, seed));
        if numbers.below(2000) == 0 {
            space.abandon(mutator);
        }
    }
    objects.iter().for_each(Object::verify);
    let survivors = numbers.below(4);
    objects.retain(|_| numbers.below(8) < survivors);
}

/// Releases chunks on two threads while a third releases the mutators.
fn collect<C: Config>(space: &Space<C>, mutators: &mut [Mutator]) {
    space.heap.begin_release(Scope::Full);
    let chunks: Vec<_> = space.heap.chunks().collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(&chunk) = chunks.get(next.fetch_add(1, SeqCst)) {
                    space.uncharge(
                        space
                            .heap
                            .release_chunks(&[chunk], Scope::Full)
                            .uncharged_pages,
                    );
                }
            });
        }
        for mutator in mutators {
            space.uncharge(mutator.local.release(&mut mutator.heads));
        }
    });
}

/// Returns the free pages to the OS, which overwrites them. Returns how many there were.
fn purge<C: Config>(space: &Space<C>) -> usize {
    let mut returned = 0;
    let release = |ranges: &[PageRange]| {
        for range in ranges {
            let count = range.pages * PAGE_BYTES / size_of::<usize>();
            // SAFETY: during the step the pages are nobody else's.
            words(range.start, count).for_each(|word| unsafe { word.write(RETURNED) });
            returned += range.pages;
        }
    };
    space.heap.purge(release).for_each(drop);
    returned
}

/// Does `meanwhile` again and again while threads allocate.
fn run<C: Config>(mut meanwhile: impl FnMut(&Space<C>)) {
    let space = Space::<C>::new(if cfg!(miri) { 1 } else { 6 }, LIMIT);
    let mut mutators: Vec<_> = (0..MUTATORS).map(|_| Mutator::default()).collect();
    let mut objects = vec![Objects::new(); MUTATORS];
    for round in 0..if cfg!(miri) { 2 } else { 30 } {
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (thread, (mutator, objects)) in mutators.iter_mut().zip(&mut objects).enumerate() {
                let (space, seed) = (&space, round * MUTATORS + thread + 1);
                threads.push(scope.spawn(move || mutate(space, mutator, objects, seed)));
            }
            while !threads.iter().all(|thread| thread.is_finished()) {
                meanwhile(&space);
            }
        });
        space.verify(mutators.iter());
        let live = objects.iter().flatten().map(|object| object.cell);
        let count = live.clone().count();
        space.mark(live);
        space.verify_marks(mutators.iter());
        collect(&space, &mut mutators);
        space.verify(mutators.iter());
        let used: usize = space.heap.blocks().map(|b| b.live_cells() as usize).sum();
        assert_eq!(used, count);
    }
}

fn nothing<C: Config>(_: &Space<C>) {
    std::thread::yield_now();
}

#[test]
fn pages_are_charged() {
    run::<Blocks<18, false>>(nothing);
    // Many small blocks are too many for Miri.
    if !cfg!(miri) {
        run::<Blocks<12, false>>(nothing);
        run::<Blocks<16, false>>(nothing);
    }
}

#[test]
fn blocks_are_charged() {
    run::<Blocks<18, true>>(nothing);
}

#[test]
fn pages_are_returned_while_threads_allocate() {
    let mut returned = 0;
    run::<Blocks<18, false>>(|space| returned += purge(space));
    if !cfg!(miri) {
        run::<Blocks<12, false>>(|space| returned += purge(space));
        run::<Blocks<16, false>>(|space| returned += purge(space));
        run::<Blocks<18, true>>(|space| returned += purge(space));
        assert!(returned > LIMIT, "only {returned} pages were returned");
    }
}
