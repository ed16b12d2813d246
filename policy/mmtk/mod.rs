// SPDX-License-Identifier: MIT OR Apache-2.0
//! # Shardsweep in mmtk-core
//!
//! The space and the allocator that put the library `shardsweep-policy` behind the MarkSweep plan. The
//! files of this module are compiled as part of the crate `mmtk`. Its patches name them; they also change
//! a few things in all builds, which the README of the binding lists.
//!
//! | here | in place of the crate's | what it does |
//! |---|---|---|
//! | [`MarkSweepSpace`] | `native_ms::MarkSweepSpace` | marks; charges pages, adds chunks, or else has a collection run |
//! | [`FreeListAllocator`] | `FreeListAllocator`, `LargeObjectAllocator` | a mutator's cells and large objects |
//! | `pages::ChunkPageResource` | `BlockPageResource` | counts charged pages; takes chunks from the address space |
//! | [`StickyMarkSweep`](crate::plan::StickyMarkSweep), in `sticky.rs` | - | a plan with generations on the same space |
//! | [`ConcurrentMarkSweep`](crate::plan::ConcurrentMarkSweep), in `concurrent.rs` | - | a plan that marks concurrently, on the same space |
//! | `closure` | `ProcessNodes`, `ConcurrentTraceObjects` | what a worker does with marked objects |
//! | `initial_mark` | `ConcurrentMarkingRootsWorkFactory` | what the initial pause of a concurrent plan marks |
//! | `collection`, `purger` | - | what the space does in a collection, and after it |
//! | `pacing` | - | when concurrent marking begins |
//! | `processor_time` | - | how long workers have had processors |
//! | `reserve`, in all builds | - | how much address space may be reserved |
//! | `loaded`, for `malloc-mimalloc2`, `-mimalloc3`, `-shardsweep` and `*-4kblock` | - | the malloc library that is loaded |
//! | `immix_page`, for that build | - | what Immix charges |
//! | `os` | - | what it asks of the OS: to drop pages, to make huge ones, to run a thread anywhere |
//! | `shared` | - | the part of the space that work packets and the purger use beside the plan |
//! | `work` | `PrepareChunkMap`, ... | work packets: clear marks, release chunks |
//!
//! ## What is counted
//!
//! Only charged pages count as used, in the page resource's accounting; a chunk counts nothing. Those that were
//! taken together go back to the map of chunks when all of their pages are free and clean. As with every space, mmtk adds its estimate of
//! the side metadata for them. Charging is what polls for a collection, and it happens only if the heap has room. Where objects are marked
//! concurrently, the use of cells on pages that are charged polls too. Before collections can
//! run, and for a thread that cannot wait for one, charged pages may exceed the heap's size.
//!
//! ## A collection
//!
//! | stage | what happens |
//! |---|---|
//! | Prepare | packets for some chunks each clear the mark bits |
//! | Closure | objects are marked |
//! | Release | the global packet empties the pools; then, in any order, one packet a mutator empties its lists, and packets for some chunks each find what is live |
//! | after the pause | a thread of its own, the purger, returns pages that are not charged to the OS, until the next pause begins |
//!
//! Debug builds check the whole heap before marks are cleared, after marking, and at the end.

mod allocator;
mod closure;
mod collection;
mod initial_mark;
mod os;
mod pacing;
mod pages;
mod processor_time;
mod purger;
mod report;
mod shared;
mod space;
mod work;

pub use allocator::{set_heads_offset, FreeListAllocator};
pub(crate) use closure::{mark_concurrently, trace_all};
pub(crate) use initial_mark::InitialRoots;
pub(crate) use pacing::{Pacing, LEAST_FRACTION};
pub use processor_time::count_worker;
pub(crate) use processor_time::of_workers as processor_time_of_workers;
pub use report::{cancel_purge, pre_touch, prepare_purge, purge, report, wake_purger, Report};
pub use shardsweep_policy::{
    Bin, BinStatistics, Build, Config, Heads, Statistics, BINS_BY_WORDS, CELL_BYTES_BY_BIN,
};
pub use space::{set_huge_pages, HugePages, MarkSweepSpace};

use crate::util::heap::layout::vm_layout::BYTES_IN_CHUNK;
use crate::util::Address;

/// The target of what the user of a program is told: the VM logs it at the level that it has here.
pub(crate) const TO_THE_USER: &str = "shardsweep";

/// The allocator takes objects of any size: none goes to the crate's large object space.
pub const MAX_OBJECT_SIZE: usize = usize::MAX;

// The library's chunks are the VM map's.
const _: () = assert!(shardsweep_policy::CHUNK_BYTES == BYTES_IN_CHUNK);

fn address(start: usize) -> Address {
    // SAFETY: chunks, blocks and cells have addresses.
    unsafe { Address::from_usize(start) }
}

/// Bytes of address space for a space of its own range: free pages may lie in runs that are too short for some
/// objects. `estimate` is the crate's, twice the size of the heap.
pub(crate) fn address_space(estimate: usize) -> usize {
    estimate.saturating_mul(2)
}
