// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the initial pause of the plan ConcurrentMarkSweep marks: what roots refer to, and what that leads to, until the time of
//! the pause is up. The rest is marked concurrently.
//!
//! A worker that marks beside more threads than there are processors waits for one most of the time. Meanwhile the heap fills
//! with new objects, all of which are taken for live. To mark a small heap in the pause costs less.

use super::closure::{mark, trace_until};
use crate::plan::concurrent_mark_sweep::Trace;
use crate::plan::tracing::gc_work::closure::ProcessNodes;
use crate::plan::ConcurrentMarkSweep;
use crate::scheduler::{GCWork, GCWorker, WorkBucketStage};
use crate::util::ObjectReference;
use crate::vm::slot::Slot;
use crate::vm::{RootsWorkFactory, VMBinding};
use crate::MMTK;
use std::marker::PhantomData;

/// Marks what some roots refer to.
struct MarkRoots<VM: VMBinding> {
    objects: Vec<ObjectReference>,
    phantom: PhantomData<VM>,
}

impl<VM: VMBinding> GCWork<VM> for MarkRoots<VM> {
    fn do_work(&mut self, worker: &mut GCWorker<VM>, mmtk: &'static MMTK<VM>) {
        let plan: Option<&ConcurrentMarkSweep<VM>> = mmtk.get_plan().downcast_ref();
        let until = plan.expect("this plan is in use").initial_mark_ends();
        let marked = mark::<Trace<VM>>(std::mem::take(&mut self.objects), worker);
        let left = trace_until::<Trace<VM>>(marked, worker, until);
        if !left.is_empty() {
            let stage = WorkBucketStage::Concurrent;
            let rest = ProcessNodes::<Trace<VM>>::new(left, stage);
            mmtk.scheduler.work_buckets[stage].add(rest);
        }
    }
}

/// Makes work of roots, for when all marks have been cleared.
pub(crate) struct InitialRoots<VM: VMBinding>(pub &'static MMTK<VM>);

impl<VM: VMBinding> Clone for InitialRoots<VM> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<VM: VMBinding> InitialRoots<VM> {
    fn add(&self, objects: Vec<ObjectReference>) {
        #[cfg(feature = "sanity")]
        self.0
            .sanity_checker
            .lock()
            .unwrap()
            .add_root_nodes(objects.clone());
        self.0.scheduler.work_buckets[WorkBucketStage::Closure].add(MarkRoots {
            objects,
            phantom: PhantomData,
        });
    }
}

impl<VM: VMBinding> RootsWorkFactory<VM::VMSlot> for InitialRoots<VM> {
    /// What the slots hold now: mutators write to them when they run again.
    fn create_process_roots_work(&mut self, slots: Vec<VM::VMSlot>) {
        self.add(slots.into_iter().filter_map(|slot| slot.load()).collect());
    }

    fn create_process_pinning_roots_work(&mut self, objects: Vec<ObjectReference>) {
        self.add(objects);
    }

    fn create_process_tpinning_roots_work(&mut self, objects: Vec<ObjectReference>) {
        self.add(objects);
    }
}
