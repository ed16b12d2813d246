// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transitive closure in a pause: a worker scans marked objects, and goes on with what it finds, until nothing is left.
//!
//! The crate makes a work packet of what each packet has found. A heap whose objects form chains then makes a packet of
//! every link, which costs more than to mark the object. Here a worker keeps what it finds, and gives some away
//! when it has much, or when the others have nothing to take.

use crate::plan::tracing::gc_work::closure::ProcessNodes;
use crate::plan::tracing::gc_work::DefaultObjectTracer;
use crate::plan::tracing::Trace;
use crate::scheduler::{GCWorker, WorkBucketStage};
use crate::util::ObjectReference;
use crate::vm::{Scanning, VMBinding};

/// After so many objects a worker looks whether others need work: a multiple of what that costs.
const SCANNED_BETWEEN: usize = 64;
/// With fewer objects, a worker keeps them all: as long as a scan of half of them takes, it takes to wake another one.
const LEAST_SHARED: usize = 128;

/// Makes a work packet of half of what has been found, if that is much and no packet waits for a worker.
fn share<T: Trace>(tracer: &mut DefaultObjectTracer<T>) {
    let bucket = &tracer.worker.scheduler().work_buckets[tracer.stage];
    if tracer.queue.len() < LEAST_SHARED || !bucket.is_empty() {
        return;
    }
    let mut found = tracer.queue.take();
    found.drain(found.len() / 2..).for_each(|object| tracer.queue.push(object));
    bucket.add(ProcessNodes::<T>::new(found, tracer.stage));
}

/// Scans `objects`, which are marked, and all that is marked by that. `T` must not move objects.
pub(crate) fn trace_all<T: Trace>(mut objects: Vec<ObjectReference>, worker: &mut GCWorker<T::VM>, stage: WorkBucketStage) {
    let tls = worker.tls;
    let trace = T::from_mmtk(worker.mmtk);
    // Makes a packet of what it has found when that fills one.
    let mut tracer = DefaultObjectTracer::<T>::new(worker, trace.clone(), stage);
    while !objects.is_empty() {
        for some in objects.chunks(SCANNED_BETWEEN) {
            for &object in some {
                <T::VM as VMBinding>::VMScanning::scan_object_and_trace_edges(tls, object, &mut tracer);
                trace.post_scan_object(object);
            }
            share(&mut tracer);
        }
        objects = tracer.queue.take();
    }
}
