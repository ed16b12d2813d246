// SPDX-License-Identifier: MIT OR Apache-2.0
//! Class loader data, which the VM holds strongly or weakly. What they refer to is a root where no classes are unloaded. Else the trace
//! comes to them through objects: an object keeps its class, and that its loader.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the trace that runs has to come to them.
static ARE_WEAK: AtomicBool = AtomicBool::new(false);

/// Says whether this collection unloads classes. Called when the mutators are stopped, before anything is marked.
pub fn begin(unloads: bool) {
    ARE_WEAK.store(unloads, Ordering::Relaxed);
}

/// Whether an object keeps the class loader data of its class. If not, all are roots, but for those that are made while marking runs
/// concurrently: what those refer to is marked, as every new object is, or as part of the snapshot.
#[inline(always)]
pub fn are_kept_by_objects() -> bool {
    ARE_WEAK.load(Ordering::Relaxed)
}
