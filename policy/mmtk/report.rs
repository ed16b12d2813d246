// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the VM prints of the space, and asks of it.

use super::os;
use super::space::MarkSweepSpace;
use crate::util::constants::BYTES_IN_PAGE;
use crate::util::heap::layout::vm_layout::{BYTES_IN_CHUNK, PAGES_IN_CHUNK};
use crate::vm::VMBinding;
use crate::MMTK;
use shardsweep_policy::Statistics;

/// The state of the space.
#[derive(Debug)]
pub struct Report {
    /// Bytes in cells that the last collection found live.
    pub live_bytes: usize,
    /// Pages charged to the heap.
    pub charged_pages: usize,
    /// Pages that the OS holds for the space.
    pub resident_pages: usize,
    /// Bytes of address space that the blocks lie in.
    pub address_space_bytes: usize,
    /// Blocks, cells and pages by size class.
    pub statistics: Statistics,
}

/// The state of the mark-sweep space, if the plan has one. Exact while mutators are stopped.
pub fn report<VM: VMBinding>(mmtk: &MMTK<VM>) -> Option<Report> {
    ask(mmtk, of)
}

/// Finds out whether there is more to be returned to the OS than may stay. For the VM to call at the end of a
/// collection, when the heap has the size that it will have.
pub fn prepare_purge<VM: VMBinding>(mmtk: &MMTK<VM>) {
    ask(mmtk, MarkSweepSpace::prepare_purge);
}

/// Makes so many bytes of the heap resident before they are used. For the VM to call before there is a mutator.
pub fn pre_touch<VM: VMBinding>(mmtk: &MMTK<VM>, bytes: usize) {
    ask(mmtk, |space| space.pre_touch(bytes.div_ceil(BYTES_IN_PAGE)));
}

/// Starts to return to the OS what the last collection has freed, but for what may stay. For the VM to call
/// when mutators run again: a thread that is woken earlier takes its processor from the pause.
pub fn wake_purger<VM: VMBinding>(mmtk: &MMTK<VM>) {
    ask(mmtk, MarkSweepSpace::wake_purger);
}

/// Has the return of memory to the OS end soon. For the VM to call when a collection was asked for, before it stops the mutators:
/// the purger then ends while they stop.
pub fn cancel_purge<VM: VMBinding>(mmtk: &MMTK<VM>) {
    ask(mmtk, MarkSweepSpace::cancel_purge);
}

/// Returns to the OS, in the caller's thread, what the last collection has freed, but for what may stay.
pub fn purge<VM: VMBinding>(mmtk: &MMTK<VM>) {
    ask(mmtk, MarkSweepSpace::purge);
}

/// What the plan's mark-sweep space answers, if it has one.
fn ask<VM: VMBinding, T>(
    mmtk: &MMTK<VM>,
    question: impl Fn(&MarkSweepSpace<VM>) -> T,
) -> Option<T> {
    let mut answer = None;
    mmtk.get_plan().for_each_space(&mut |space| {
        if let Some(space) = space.downcast_ref::<MarkSweepSpace<VM>>() {
            answer = Some(question(space));
        }
    });
    answer
}

fn of<VM: VMBinding>(space: &MarkSweepSpace<VM>) -> Report {
    let heap = space.heap();
    let starts = heap.chunks().map(|chunk| heap.chunk_start(chunk));
    Report {
        live_bytes: space.shared.last_release().live_bytes,
        charged_pages: space.charged_pages(),
        resident_pages: starts.map(resident_pages).sum(),
        address_space_bytes: heap.chunks().count() * BYTES_IN_CHUNK,
        statistics: heap.statistics(),
    }
}

/// Number of resident pages of the chunk at `start`, as the kernel has it.
fn resident_pages(start: usize) -> usize {
    let resident = os::resident_pages::<PAGES_IN_CHUNK>(start);
    debug_assert!(resident.is_some(), "{start:#x} is a mapped chunk");
    resident.unwrap_or_default()
}
