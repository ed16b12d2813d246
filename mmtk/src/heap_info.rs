// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of `jcmd GC.heap_info`.

use crate::heap;
use mmtk::memory_manager;
use std::fmt::Write;

const KIB: usize = 1 << 10;
const KIB_PER_PAGE: usize = 4;

/// One line a space: name, kind, what it has reserved, its addresses; then the total.
pub fn describe<const COMPRESSED: bool>() -> String {
    let mmtk = heap::mmtk::<COMPRESSED>();
    let mut text = String::new();
    mmtk.get_plan().for_each_space(&mut |space| {
        let common = space.common();
        let kind = match (common.immortal, common.movable) {
            (true, _) => "immortal",
            (false, true) => "moving",
            (false, false) => "non-moving",
        };
        let addresses = addresses::<COMPRESSED>(space.get_name());
        let _ = writeln!(
            text,
            " {:<12} {:<10} {:>9}K reserved {}",
            space.get_name(),
            kind,
            space.reserved_pages() * KIB_PER_PAGE,
            addresses
        );
    });
    let _ = writeln!(
        text,
        " {:<12} {:<10} {:>9}K used of {}K",
        "total",
        "",
        memory_manager::used_bytes(mmtk) / KIB,
        memory_manager::total_bytes(mmtk) / KIB
    );
    text
}

/// The address ranges of a space, as mmtk's map of spaces shows them.
fn addresses<const COMPRESSED: bool>(space: &'static str) -> String {
    let mut line = String::new();
    let _ = heap::mmtk::<COMPRESSED>().debug_print_vm_maps(&mut line, Some(space));
    let ranges = line.split_whitespace().filter(|word| word.contains("->"));
    ranges.collect::<Vec<_>>().join(" ").replace("->", "-")
}
