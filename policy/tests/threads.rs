// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that allocate, adopt and exit at the same time, and collectors that work in parallel.
#![cfg(not(loom))]

mod common;

use common::{Mutator, Numbers, Space};
use shardsweep_policy::*;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const MUTATORS: usize = 4;
const LIMIT: usize = 900;

/// Objects of one thread: address and the word that was written to each.
type Objects = Vec<(usize, usize)>;

fn word(address: usize) -> *mut usize {
    std::ptr::with_exposed_provenance_mut(address)
}

/// Allocates until the heap is full or enough was done; some threads exit on the way and start anew.
fn mutate<C: Config>(space: &Space<C>, mutator: &mut Mutator, objects: &mut Objects, seed: usize) {
    let mut numbers = Numbers(seed as u64);
    for turn in 0..if cfg!(miri) { 12 } else { 6000 } {
        let bytes = 8 * (1 + numbers.below(if turn % 9 == 0 { 256 } else { 16 }));
        let Some(cell) = space.alloc(mutator, C::bin(bytes, 8).unwrap()) else {
            break;
        };
        // SAFETY: the cell was just handed out.
        unsafe { word(cell).write(cell ^ seed) };
        objects.push((cell, cell ^ seed));
        if numbers.below(2000) == 0 {
            space.give_up(mutator);
        }
    }
    for &(cell, value) in objects.iter() {
        // SAFETY: the object lives.
        let now = unsafe { word(cell).read() };
        assert_eq!(now, value, "an object was overwritten");
    }
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

fn run<C: Config>() {
    let space = Space::<C>::new(if cfg!(miri) { 1 } else { 6 }, LIMIT);
    let mut mutators: Vec<_> = (0..MUTATORS).map(|_| Mutator::default()).collect();
    let mut objects = vec![Objects::new(); MUTATORS];
    for round in 0..if cfg!(miri) { 2 } else { 30 } {
        std::thread::scope(|scope| {
            for (thread, (mutator, objects)) in mutators.iter_mut().zip(&mut objects).enumerate() {
                let space = &space;
                scope.spawn(move || mutate(space, mutator, objects, round * MUTATORS + thread + 1));
            }
        });
        space.verify(mutators.iter());
        let live = objects.iter().flatten().map(|&(cell, _)| cell);
        let count = live.clone().count();
        space.mark(live);
        space.verify_marks(mutators.iter());
        collect(&space, &mut mutators);
        space.verify(mutators.iter());
        let used: usize = space.heap.blocks().map(|b| b.live_cells() as usize).sum();
        assert_eq!(used, count);
    }
}

#[test]
fn pages_are_charged() {
    run::<Blocks<18, false>>();
    // Many small blocks are too many for Miri.
    if !cfg!(miri) {
        run::<Blocks<12, false>>();
        run::<Blocks<16, false>>();
    }
}

#[test]
fn blocks_are_charged() {
    run::<Blocks<18, true>>();
}
