// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a pause that the VM does not see begin. It measures and logs all of them: here it is told when one begins, which
//! ends the one before it.

use crate::abi::{self, Phase};
use crate::{collection, heap, upcalls, OpenJDK};
use mmtk::memory_manager;
use mmtk::scheduler::{GCWork, GCWorker, WorkBucketStage};
use mmtk::MMTK;

/// The first packet of the closure: roots have been scanned.
struct BeginMark;

impl<const COMPRESSED: bool> GCWork<OpenJDK<COMPRESSED>> for BeginMark {
    fn do_work(
        &mut self,
        _worker: &mut GCWorker<OpenJDK<COMPRESSED>>,
        _mmtk: &'static MMTK<OpenJDK<COMPRESSED>>,
    ) {
        upcalls::begin_phase(Phase::Mark);
    }
}

/// Has the beginning of marking told. Called when the mutators have been stopped, before there are packets for roots. A final mark has
/// none of those: what is left is marked from the beginning on.
pub fn schedule<const COMPRESSED: bool>() {
    if collection::pause::<COMPRESSED>() == abi::PAUSE_FINAL_MARK {
        upcalls::begin_phase(Phase::Mark);
        return;
    }
    let mmtk = heap::mmtk::<COMPRESSED>();
    memory_manager::add_work_packet(mmtk, WorkBucketStage::Closure, BeginMark);
}

/// Whether objects move when all that live have been found.
fn forwards<const COMPRESSED: bool>() -> bool {
    let plan = heap::mmtk::<COMPRESSED>().get_plan();
    plan.constraints().needs_forward_after_liveness
}

/// What is alive has been found, and weak roots have been processed.
pub fn weak_roots_done<const COMPRESSED: bool>() {
    upcalls::begin_phase(if forwards::<COMPRESSED>() {
        Phase::Forward
    } else {
        Phase::Release
    });
}

/// Objects have their new addresses, in plans that move them.
pub fn forwarding_done<const COMPRESSED: bool>() {
    if forwards::<COMPRESSED>() {
        upcalls::begin_phase(Phase::Release);
    }
}
