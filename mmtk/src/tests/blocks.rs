// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of our mark-sweep space, as `jcmd GC.heap_info` shows it.

use super::*;

/// The number before `unit` in the line about blocks.
fn kibibytes(text: &str, unit: &str) -> usize {
    let line = text.lines().find(|line| line.contains(" blocks of "));
    let line = line.unwrap_or_else(|| panic!("no line about blocks in:\n{text}"));
    let before = line.split(&format!("K {unit}")).next().unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn what_is_not_charged_is_not_resident() {
    let (mut vm, _) = in_case!(blocks::what_is_not_charged_is_not_resident);
    if !env::var(CASE).unwrap().starts_with("MarkSweep ") {
        return;
    }
    // Every twentieth list survives until the end, so that many pages hold something live.
    for root in 0..10 {
        for _ in 0..20 {
            make_list(&mut vm, root, 0..2_000);
        }
    }
    let full = vm.heap_info();
    for root in 3..10 {
        vm.set_root(root, None);
    }
    vm.collect();
    let text = vm.heap_info();
    let [live, charged, resident] =
        ["live", "charged", "resident"].map(|unit| kibibytes(&text, unit));
    assert!(0 < live && live <= charged, "{text}");
    assert!(charged < kibibytes(&full, "charged"), "{full}{text}");
    assert!(resident <= charged + 1024, "{text}");
    for root in 0..3 {
        check_list(&vm, root, 0..2_000);
    }
}
