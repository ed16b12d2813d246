// SPDX-License-Identifier: MIT OR Apache-2.0
//! Safepoints and GC threads.

use crate::active_plan::mutator_ref;
use crate::references::DISCOVERY;
use crate::trigger::HeapSize;
use crate::{heap, roots, upcalls, OpenJDK};
use mmtk::util::alloc::AllocationError;
use mmtk::util::heap::GCTriggerPolicy;
use mmtk::util::{VMMutatorThread, VMThread, VMWorkerThread};
use mmtk::vm::{Collection, GCThreadContext};
use mmtk::Mutator;

/// Whether the collection that has been scheduled or runs looks at new objects alone.
pub fn is_partial<const COMPRESSED: bool>() -> bool {
    let plan = heap::mmtk::<COMPRESSED>().get_plan();
    plan.generational()
        .is_some_and(|plan| plan.is_current_gc_nursery())
}

/// HotSpot's safepoints.
pub struct Safepoints;

impl<const COMPRESSED: bool> Collection<OpenJDK<COMPRESSED>> for Safepoints {
    fn stop_all_mutators<F>(worker: VMWorkerThread, mut mutator_visitor: F)
    where
        F: FnMut(&'static mut Mutator<OpenJDK<COMPRESSED>>),
    {
        upcalls::stop_all_mutators(worker.0);
        roots::begin_collection();
        let mut policy = upcalls::soft_reference_policy();
        policy.clear_all |= heap::mmtk::<COMPRESSED>().is_emergency_collection();
        DISCOVERY.begin(policy);
        for raw in upcalls::mutators() {
            // SAFETY: mutators are stopped, and the list has each of them once.
            mutator_visitor(unsafe { mutator_ref(raw) });
        }
    }

    fn resume_mutators(worker: VMWorkerThread) {
        #[cfg(feature = "shardsweep")]
        mmtk::shardsweep::prepare_purge(heap::mmtk::<COMPRESSED>());
        upcalls::resume_mutators(worker.0);
        #[cfg(feature = "shardsweep")]
        mmtk::shardsweep::wake_purger(heap::mmtk::<COMPRESSED>());
    }

    fn block_for_gc(thread: VMMutatorThread) {
        upcalls::block_for_gc(thread.0);
    }

    fn spawn_gc_thread(_parent: VMThread, context: GCThreadContext<OpenJDK<COMPRESSED>>) {
        let GCThreadContext::Worker(worker) = context;
        upcalls::spawn_worker(Box::into_raw(worker).cast());
    }

    fn out_of_memory(_thread: VMThread, kind: AllocationError) {
        match kind {
            // The allocation then returns null, and the VM throws the OutOfMemoryError.
            AllocationError::HeapOutOfMemory => {}
            AllocationError::MmapOutOfMemory => {
                upcalls::out_of_os_memory("mapping memory of the heap")
            }
        }
    }

    fn create_gc_trigger() -> Box<dyn GCTriggerPolicy<OpenJDK<COMPRESSED>>> {
        Box::new(HeapSize::new())
    }
}
