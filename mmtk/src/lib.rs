// SPDX-License-Identifier: MIT OR Apache-2.0
//! MMTk as the third-party heap of OpenJDK 17.
//!
//! The crate is built as a plugin, which libjvm loads with `dlopen` under
//! `-XX:+UseThirdPartyHeap`. The two talk through the tables of functions of [`abi`]; everything
//! else here is mmtk-core's view of HotSpot: the [`mmtk::vm::VMBinding`] of [`OpenJDK`].
//!
//! One plugin serves heaps with and without compressed oops: the binding is compiled for both, and
//! which one runs is decided when the heap is made (see [`heap`]).

#![warn(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks
)]

mod abi;
mod active_plan;
mod address_range;
mod affinity;
mod allocation;
mod barrier;
#[cfg(feature = "shardsweep")]
mod cells;
mod classes;
mod collection;
mod entry;
mod heap;
mod heap_info;
mod layout;
mod logging;
mod native_memory;
mod object_model;
mod options;
mod own_memory;
mod phases;
mod plans;
mod recent_copies;
mod references;
mod roots;
mod scanning;
mod sharing;
mod slot;
mod trigger;
mod upcalls;

#[cfg(test)]
mod tests;

/// OpenJDK as mmtk-core sees it; `COMPRESSED` tells whether it uses compressed oops.
#[derive(Default)]
pub struct OpenJDK<const COMPRESSED: bool>;

impl<const COMPRESSED: bool> mmtk::vm::VMBinding for OpenJDK<COMPRESSED> {
    type VMObjectModel = object_model::Oops;
    type VMScanning = scanning::Scan;
    type VMCollection = collection::Safepoints;
    type VMActivePlan = active_plan::Threads;
    type VMReferenceGlue = references::Unused;
    type VMSlot = slot::OopSlot<COMPRESSED>;
    type VMMemorySlice = slot::OopSlice<COMPRESSED>;

    const MIN_ALIGNMENT: usize = layout::WORD;
    const MAX_ALIGNMENT: usize = layout::WORD;
    const USE_ALLOCATION_OFFSET: bool = false;
}
