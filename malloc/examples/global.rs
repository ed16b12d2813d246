// SPDX-License-Identifier: MIT OR Apache-2.0
//! A Rust program on the Shardsweep allocator: counts words of its input. `cargo run --example global <README.md`

use shardsweep_malloc::Shardsweep;
use std::collections::BTreeMap;
use std::io::read_to_string;

#[global_allocator]
static ALLOCATOR: Shardsweep = Shardsweep;

fn main() -> std::io::Result<()> {
    let mut words = BTreeMap::<String, usize>::new();
    for word in read_to_string(std::io::stdin())?.split_whitespace() {
        *words.entry(word.to_string()).or_default() += 1;
    }
    if let Some((word, count)) = words.iter().max_by_key(|entry| entry.1) {
        println!("{count} times {word}");
    }
    Ok(())
}
