// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plans that this plugin runs.

use mmtk::plan::{self, PlanConstraints};
use mmtk::util::options::PlanSelector;
use std::ffi::CStr;

/// What the VM itself needs to start, and HotSpot's own limit.
const MIN_HEAP_SIZE: usize = 2 << 20;

/// A plan and what the VM needs to know of it.
pub struct PlanInfo {
    /// As mmtk spells it.
    pub name: &'static CStr,
    /// The same for mmtk.
    pub selector: PlanSelector,
    /// What mmtk says of it.
    pub constraints: &'static PlanConstraints,
    /// Bytes of the smallest heap in which the VM gets through its own start-up.
    pub min_heap_size: usize,
    /// Whether threads allocate by moving a pointer, so that HotSpot can do so inline.
    pub bump_allocation: bool,
}

/// The plan that runs when none is named.
pub const DEFAULT: PlanSelector = PlanSelector::MarkSweep;

/// The plans.
pub static PLANS: [PlanInfo; 9 + 2 * cfg!(feature = "shardsweep") as usize] = [
    PlanInfo {
        name: c"NoGC",
        selector: PlanSelector::NoGC,
        constraints: &plan::NOGC_CONSTRAINTS,
        min_heap_size: MIN_HEAP_SIZE,
        bump_allocation: true,
    },
    PlanInfo {
        name: c"SemiSpace",
        selector: PlanSelector::SemiSpace,
        constraints: &plan::SS_CONSTRAINTS,
        min_heap_size: MIN_HEAP_SIZE,
        bump_allocation: true,
    },
    PlanInfo {
        name: c"MarkSweep",
        selector: PlanSelector::MarkSweep,
        constraints: &plan::MS_CONSTRAINTS,
        min_heap_size: MIN_HEAP_SIZE,
        bump_allocation: false,
    },
    PlanInfo {
        name: c"MarkCompact",
        selector: PlanSelector::MarkCompact,
        constraints: &plan::MARKCOMPACT_CONSTRAINTS,
        min_heap_size: MIN_HEAP_SIZE,
        bump_allocation: true,
    },
    PlanInfo {
        name: c"Immix",
        selector: PlanSelector::Immix,
        constraints: &plan::IMMIX_CONSTRAINTS,
        min_heap_size: MIN_HEAP_SIZE,
        bump_allocation: true,
    },
    PlanInfo {
        name: c"GenCopy",
        selector: PlanSelector::GenCopy,
        constraints: &plan::GENCOPY_CONSTRAINTS,
        min_heap_size: MIN_HEAP_SIZE,
        bump_allocation: true,
    },
    PlanInfo {
        name: c"GenImmix",
        selector: PlanSelector::GenImmix,
        constraints: &plan::GENIMMIX_CONSTRAINTS,
        min_heap_size: MIN_HEAP_SIZE,
        bump_allocation: true,
    },
    PlanInfo {
        name: c"StickyImmix",
        selector: PlanSelector::StickyImmix,
        constraints: &plan::STICKY_IMMIX_CONSTRAINTS,
        min_heap_size: MIN_HEAP_SIZE,
        bump_allocation: true,
    },
    PlanInfo {
        name: c"ConcurrentImmix",
        selector: PlanSelector::ConcurrentImmix,
        constraints: &plan::CONCURRENT_IMMIX_CONSTRAINTS,
        min_heap_size: MIN_HEAP_SIZE,
        bump_allocation: true,
    },
    #[cfg(feature = "shardsweep")]
    PlanInfo {
        name: c"StickyMarkSweep",
        selector: PlanSelector::StickyMarkSweep,
        constraints: &plan::STICKY_MARK_SWEEP_CONSTRAINTS,
        min_heap_size: MIN_HEAP_SIZE,
        bump_allocation: false,
    },
    #[cfg(feature = "shardsweep")]
    PlanInfo {
        name: c"ConcurrentMarkSweep",
        selector: PlanSelector::ConcurrentMarkSweep,
        constraints: &plan::CONCURRENT_MARK_SWEEP_CONSTRAINTS,
        min_heap_size: MIN_HEAP_SIZE,
        bump_allocation: false,
    },
];

/// What is known of a plan of [`PLANS`].
///
/// # Errors
/// A line that names the plans to choose from.
pub fn find(name: &str) -> Result<&'static PlanInfo, String> {
    if let Some(found) = PLANS
        .iter()
        .find(|plan| plan.name.to_bytes() == name.as_bytes())
    {
        return Ok(found);
    }
    let names: Vec<_> = PLANS
        .iter()
        .map(|plan| plan.name.to_string_lossy())
        .collect();
    let names = names.join(", ");
    Err(match name.parse::<PlanSelector>() {
        Ok(_) => format!("plan {name} is not supported by this plugin yet: choose from {names}"),
        Err(_) => format!("unknown plan '{name}': expected one of {names}"),
    })
}
