// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fills a heap with objects so many times, and prints how many objects that were: a program of which an
//! instruction counter sees what an allocation costs. `allocation grow|sweep ROUNDS`.
//!
//! `grow` fills an empty heap each time. `sweep` fills one of which every other object lives on. Two runs that differ by
//! a round differ by its allocations and one collection.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Mutator, Space};
use shardsweep_policy::*;

const CHUNKS: usize = 2;
const OBJECT: usize = 48;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (kind, rounds) = match arguments.as_slice() {
        [kind, rounds] if kind == "grow" || kind == "sweep" => (kind, rounds.parse::<usize>()),
        _ => usage(),
    };
    let Ok(rounds) = rounds else { usage() };
    let space: Space<Build> = Space::new(CHUNKS, usize::MAX);
    let mut mutator = Mutator::default();
    let bin = Bin::holding(OBJECT);
    let mut cells = Vec::new();
    while let Some(cell) = space.alloc(&mut mutator, bin) {
        cells.push(cell);
    }
    let live: Vec<usize> = match kind.as_str() {
        "sweep" => cells.iter().copied().step_by(2).collect(),
        _ => Vec::new(),
    };
    space.mark(live.iter().copied());
    let mut allocated = 0;
    for _ in 0..rounds {
        space.release(std::iter::once(&mut mutator));
        while space.alloc(&mut mutator, bin).is_some() {
            allocated += 1;
        }
    }
    println!("{allocated}");
}

fn usage() -> ! {
    eprintln!("usage: allocation grow|sweep ROUNDS");
    std::process::exit(1);
}
