// SPDX-License-Identifier: MIT OR Apache-2.0
//! Roots. Of strong ones HotSpot reports slots, mmtk-core gets them in buffers of a work packet's size; weak ones HotSpot processes
//! itself. Workers scan both together: each claims parts, as long as there are some.

use crate::abi::{self, Phase, RawSlot, RootSet};
use crate::sharing::share;
use crate::slot::OopSlot;
use crate::{barrier, heap, upcalls, OpenJDK};
use mmtk::scheduler::{GCWork, GCWorker, WorkBucketStage, EDGES_WORK_BUFFER_SIZE};
use mmtk::util::VMThread;
use mmtk::vm::slot::Slot;
use mmtk::vm::RootsWorkFactory;
use mmtk::{memory_manager, MMTK};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this collection scans roots for the second time.
static RE_SCANNING: AtomicBool = AtomicBool::new(false);

/// Called when the mutators have been stopped.
pub fn begin_collection() {
    RE_SCANNING.store(false, Ordering::Relaxed);
}

/// Whether roots are scanned for the second time, beside the second trace.
pub fn is_re_scanning() -> bool {
    RE_SCANNING.load(Ordering::Relaxed)
}

/// Called between two scans of one collection.
pub fn begin_second_scan() {
    upcalls::prepare_for_roots_re_scanning();
    RE_SCANNING.store(true, Ordering::Relaxed);
}

/// Gathers reported slots and makes work of them, a buffer at a time.
struct Buffer<const COMPRESSED: bool, F: RootsWorkFactory<OopSlot<COMPRESSED>>> {
    slots: Vec<OopSlot<COMPRESSED>>,
    factory: F,
}

impl<const COMPRESSED: bool, F: RootsWorkFactory<OopSlot<COMPRESSED>>> Buffer<COMPRESSED, F> {
    /// Runs `scan` with a sink, and makes work of all that it reports.
    fn fill(factory: F, scan: impl FnOnce(&abi::RootSink)) {
        let mut buffer = Self {
            slots: Vec::new(),
            factory,
        };
        scan(&abi::RootSink {
            report: Self::report,
            context: (&raw mut buffer).cast(),
        });
        buffer.flush();
    }

    unsafe extern "C" fn report(context: *mut c_void, slots: *const RawSlot, count: usize) {
        if count == 0 {
            return;
        }
        // SAFETY: `context` is the buffer of `fill`, which waits for the scan; the VM passes
        // `count` slots.
        let (buffer, slots) = unsafe {
            (
                &mut *context.cast::<Self>(),
                std::slice::from_raw_parts(slots, count),
            )
        };
        for &slot in slots {
            buffer.slots.push(OopSlot::from_raw(slot));
            if buffer.slots.len() == EDGES_WORK_BUFFER_SIZE {
                buffer.flush();
                // There may be as many again.
                buffer.slots.reserve_exact(EDGES_WORK_BUFFER_SIZE);
            }
        }
    }

    fn flush(&mut self) {
        if !self.slots.is_empty() {
            self.factory
                .create_process_roots_work(std::mem::take(&mut self.slots));
        }
    }
}

/// Makes work of the roots of one Java thread.
pub fn scan_thread<const COMPRESSED: bool>(
    thread: VMThread,
    factory: impl RootsWorkFactory<OopSlot<COMPRESSED>>,
) {
    Buffer::fill(factory, |sink| upcalls::scan_thread_roots(thread, sink));
}

/// Scans a worker's part of each set of roots.
struct ScanRootSets<const COMPRESSED: bool, F> {
    factory: F,
    slots: PhantomData<OopSlot<COMPRESSED>>,
}

impl<const COMPRESSED: bool, F> GCWork<OpenJDK<COMPRESSED>> for ScanRootSets<COMPRESSED, F>
where
    F: RootsWorkFactory<OopSlot<COMPRESSED>>,
{
    fn do_work(
        &mut self,
        _worker: &mut GCWorker<OpenJDK<COMPRESSED>>,
        _mmtk: &'static MMTK<OpenJDK<COMPRESSED>>,
    ) {
        Buffer::fill(self.factory.clone(), |sink| {
            for set in RootSet::ALL {
                upcalls::scan_roots(set, sink);
            }
        });
    }
}

/// Schedules the scan of the sets in the bucket that is open now: by a packet for each worker.
pub fn schedule_sets<const COMPRESSED: bool>(factory: impl RootsWorkFactory<OopSlot<COMPRESSED>>) {
    let bucket = if is_re_scanning() {
        WorkBucketStage::SecondRoots
    } else {
        WorkBucketStage::Prepare
    };
    let mmtk = heap::mmtk::<COMPRESSED>();
    for _ in 0..memory_manager::num_of_workers(mmtk) {
        let packet = ScanRootSets {
            factory: factory.clone(),
            slots: PhantomData,
        };
        memory_manager::add_work_packet(mmtk, bucket, packet);
    }
}

/// Has marked what concurrent marking does not come to. Called at the beginning of a final mark.
pub fn snapshot_late<const COMPRESSED: bool>() {
    let slots = upcalls::late_roots()
        .into_iter()
        .map(OopSlot::<COMPRESSED>::from_raw);
    let objects: Vec<_> = slots.filter_map(|slot| slot.load()).collect();
    let mut places = vec![0; objects.len()];
    // SAFETY: null stands for threads without a mutator, as this worker is.
    unsafe { barrier::snapshot_objects::<COMPRESSED>(ptr::null_mut(), &objects, &mut places) }
}

/// Has workers run `part`, as many as the weak roots are worth.
fn share_weak<const COMPRESSED: bool>(
    worker: &mut GCWorker<OpenJDK<COMPRESSED>>,
    bucket: WorkBucketStage,
    part: fn(),
) {
    let workers = upcalls::weak_root_workers(memory_manager::num_of_workers(worker.mmtk));
    share(worker, bucket, workers, move |_| part());
}

/// Clears the weak roots whose objects were not reached, and updates the others. What is alive is known.
pub fn process_weak<const COMPRESSED: bool>(worker: &mut GCWorker<OpenJDK<COMPRESSED>>) {
    upcalls::begin_phase(Phase::WeakRoots);
    share_weak(
        worker,
        WorkBucketStage::VMRefClosure,
        upcalls::process_weak_roots,
    );
    upcalls::end_weak_roots();
}

/// Updates the weak roots that are left, in plans whose objects have got their new addresses since.
pub fn forward_weak<const COMPRESSED: bool>(worker: &mut GCWorker<OpenJDK<COMPRESSED>>) {
    share_weak(
        worker,
        WorkBucketStage::VMRefForwarding,
        upcalls::forward_weak_roots,
    );
}
