// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of `jcmd GC.heap_info`.

use crate::heap;
use mmtk::memory_manager;
use std::fmt::Write;

const KIB: usize = 1 << 10;
const KIB_PER_PAGE: usize = 4;

/// One line a space: name, kind, what it has reserved, its addresses; the size classes of our mark-sweep
/// space; then the total.
pub fn describe<const COMPRESSED: bool>() -> String {
    let mmtk = heap::mmtk::<COMPRESSED>();
    let mut text = String::new();
    mmtk.get_plan().for_each_space(&mut |space| {
        let reserved = space.reserved_pages() * KIB_PER_PAGE;
        // The space of a malloc library has no addresses of its own, and no description of this kind.
        if space.get_name() == "MallocSpace" {
            let _ = writeln!(
                text,
                " {:<12} {:<10} {reserved:>9}K reserved",
                "malloc", "non-moving"
            );
            return;
        }
        let common = space.common();
        let kind = match (common.immortal, space.is_movable()) {
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
            reserved,
            addresses
        );
    });
    #[cfg(feature = "shardsweep")]
    if let Some(report) = mmtk::shardsweep::report(mmtk) {
        describe_blocks(&mut text, &report);
    }
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

/// The mark-sweep space: its memory, then one line a size class that has blocks.
#[cfg(feature = "shardsweep")]
fn describe_blocks(text: &mut String, report: &mmtk::shardsweep::Report) {
    use mmtk::shardsweep::{Bin, Build, Config};
    let _ = writeln!(
        text,
        " blocks of {}K: {}K live at the last collection, {}K charged, {}K resident, {}K free in {}K of address space",
        Build::BLOCK_BYTES / KIB,
        report.live_bytes / KIB,
        report.charged_pages * KIB_PER_PAGE,
        report.resident_pages * KIB_PER_PAGE,
        report.statistics.free_pages * KIB_PER_PAGE,
        report.address_space_bytes / KIB
    );
    let _ = writeln!(
        text,
        " cell bytes   blocks  live cells  used cells  charged  occupancy"
    );
    let bins = report.statistics.bins.iter().enumerate();
    let cells = bins.map(|(index, bin)| (Bin::from_index(index).cell_bytes().to_string(), bin));
    for (cell_bytes, bin) in cells.chain([("large".to_owned(), &report.statistics.large)]) {
        if bin.blocks != 0 {
            let _ = writeln!(
                text,
                " {:>10} {:>8} {:>11} {:>11} {:>7}K {:>9.1}%",
                cell_bytes,
                bin.blocks,
                bin.live_cells,
                bin.used_cells,
                bin.charged_pages * KIB_PER_PAGE,
                bin.occupancy() * 100.0
            );
        }
    }
}

/// The addresses of a space, from mmtk's map of spaces.
fn addresses<const COMPRESSED: bool>(space: &'static str) -> String {
    let mut line = String::new();
    let _ = heap::mmtk::<COMPRESSED>().debug_print_vm_maps(&mut line, Some(space));
    summary(&line)
}

/// The first and the last address of the ranges `first->last` in a line of mmtk's map, and how many
/// parts they are if there are gaps: a space may have hundreds.
fn summary(line: &str) -> String {
    let number = |text: &str| usize::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let mut ranges: Vec<(usize, usize)> = line
        .split([' ', ',', '\n'])
        .filter_map(|word| word.split_once("->"))
        .filter_map(|(first, last)| Some((number(first)?, number(last)?)))
        .collect();
    ranges.sort_unstable();
    let (Some((first, _)), Some((_, last))) = (ranges.first(), ranges.last()) else {
        return String::new();
    };
    let gaps = ranges.windows(2).filter(|pair| pair[0].1 + 1 != pair[1].0);
    match gaps.count() {
        0 => format!("{first:#x}-{last:#x}"),
        gaps => format!("{first:#x}-{last:#x} in {} parts", gaps + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn addresses_fit_in_a_line() {
        assert_eq!(summary("nothing  N \n"), "");
        assert_eq!(summary("los IN 0x1000->0x1fff E 4096\n"), "0x1000-0x1fff");
        let adjacent = "ms  N 0x3000->0x3fff, 0x1000->0x2fff\n";
        assert_eq!(summary(adjacent), "0x1000-0x3fff");
        let apart = "ms  N 0x5000->0x5fff, 0x3000->0x3fff, 0x1000->0x2fff\n";
        assert_eq!(summary(apart), "0x1000-0x5fff in 2 parts");
    }
}
