// SPDX-License-Identifier: MIT OR Apache-2.0
//! Safepoints and GC threads.

use crate::active_plan::mutator_ref;
use crate::references::DISCOVERY;
use crate::trigger::HeapSize;
use crate::{abi, classes, heap, phases, recent_copies, roots, trigger, upcalls, OpenJDK};
use mmtk::plan::Pause;
use mmtk::util::alloc::AllocationError;
use mmtk::util::heap::GCTriggerPolicy;
use mmtk::util::{VMMutatorThread, VMThread, VMWorkerThread};
use mmtk::vm::{Collection, GCThreadContext};
use mmtk::Mutator;
use std::sync::atomic::{fence, AtomicBool, Ordering};

/// `ThirdPartyHeapPause`: what the pause that has been scheduled, or lasts, is for.
pub fn pause<const COMPRESSED: bool>() -> i32 {
    let plan = heap::mmtk::<COMPRESSED>().get_plan();
    match plan.concurrent().and_then(|plan| plan.current_pause()) {
        Some(Pause::InitialMark) => abi::PAUSE_INITIAL_MARK,
        Some(Pause::FinalMark) => abi::PAUSE_FINAL_MARK,
        _ if trigger::is_partial(plan) => abi::PAUSE_PARTIAL,
        _ => abi::PAUSE_FULL,
    }
}

/// Whether the mutators are stopped.
static IN_PAUSE: AtomicBool = AtomicBool::new(false);

/// Whether mutators run beside the worker that asks. If not, they will not before its packet is done. If they do, the pause that
/// follows sees what the worker has marked before.
pub fn do_mutators_run() -> bool {
    fence(Ordering::SeqCst);
    !IN_PAUSE.load(Ordering::SeqCst)
}

/// Asks the VM what the collection does with classes and references, unless marking has begun in an earlier pause. Only a full pause clears
/// all soft references: the VM has it do so where it would be out of memory else.
fn begin_collection<const COMPRESSED: bool>() {
    let pause = pause::<COMPRESSED>();
    if pause != abi::PAUSE_FINAL_MARK {
        classes::begin(upcalls::unloads_classes());
        let mut policy = upcalls::soft_reference_policy();
        policy.clear_all &= pause == abi::PAUSE_FULL;
        DISCOVERY.begin(policy);
    }
}

/// HotSpot's safepoints.
pub struct Safepoints;

impl<const COMPRESSED: bool> Collection<OpenJDK<COMPRESSED>> for Safepoints {
    fn stop_all_mutators<F>(worker: VMWorkerThread, mut mutator_visitor: F)
    where
        F: FnMut(&'static mut Mutator<OpenJDK<COMPRESSED>>),
    {
        #[cfg(feature = "shardsweep")]
        mmtk::shardsweep::cancel_purge(heap::mmtk::<COMPRESSED>());
        upcalls::stop_all_mutators(worker.0);
        IN_PAUSE.store(true, Ordering::SeqCst);
        recent_copies::forget();
        roots::begin_collection();
        begin_collection::<COMPRESSED>();
        phases::schedule::<COMPRESSED>();
        if pause::<COMPRESSED>() == abi::PAUSE_FINAL_MARK {
            roots::snapshot_late::<COMPRESSED>();
        }
        for raw in upcalls::mutators() {
            // SAFETY: mutators are stopped, and the list has each of them once.
            mutator_visitor(unsafe { mutator_ref(raw) });
        }
    }

    fn resume_mutators(worker: VMWorkerThread) {
        #[cfg(feature = "shardsweep")]
        mmtk::shardsweep::prepare_purge(heap::mmtk::<COMPRESSED>());
        // Where the final mark follows at once, they wait on.
        if pause::<COMPRESSED>() != abi::PAUSE_FINAL_MARK {
            trigger::forget_pending();
        }
        IN_PAUSE.store(false, Ordering::SeqCst);
        upcalls::resume_mutators(worker.0);
        #[cfg(feature = "shardsweep")]
        mmtk::shardsweep::wake_purger(heap::mmtk::<COMPRESSED>());
    }

    fn post_forwarding(_worker: VMWorkerThread) {
        phases::forwarding_done::<COMPRESSED>();
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
            AllocationError::MmapOutOfMemory => upcalls::out_of_os_memory("the heap", 0),
        }
    }

    fn create_gc_trigger() -> Box<dyn GCTriggerPolicy<OpenJDK<COMPRESSED>>> {
        Box::new(HeapSize::new())
    }
}
