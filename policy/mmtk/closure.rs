// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transitive closure: a worker scans marked objects, and goes on with what it finds, until nothing is left.
//!
//! The crate makes a work packet of what each packet has found. A heap whose objects form chains then makes a packet of
//! every link, which costs more than to mark the object. Here a worker keeps what it finds, and gives some away
//! when it has much, or when the others have nothing to take.

use crate::plan::tracing::gc_work::closure::ProcessNodes;
use crate::plan::tracing::gc_work::DefaultObjectTracer;
use crate::plan::tracing::Trace;
use crate::plan::VectorObjectQueue;
use crate::scheduler::{GCWorker, WorkBucketStage};
use crate::util::ObjectReference;
use crate::vm::{Scanning, VMBinding};
use crate::GcStatus;
use shardsweep_policy::prefetch;
use std::time::{Duration, Instant};

/// After so many objects a worker looks whether others need work: a multiple of what that costs.
const SCANNED_BETWEEN: usize = 64;
/// With fewer objects, a worker keeps them all: to wake another worker takes about as long as to scan half of so many.
const LEAST_SHARED: usize = 128;

/// How many objects ahead of the one that is scanned the headers are fetched: else most of the time of a trace goes into waiting for
/// them. Where an object is found is too early, as thousands may come before it.
const AHEAD: usize = 8;

/// Bytes above which an object may take long to scan, some 20 us: an array of references.
const LONG: usize = 4 << 10;
/// Nanoseconds that a byte of it takes: 20 for a reference, of which some miss the cache.
const NANOS_A_BYTE: u64 = 5;

/// Makes a work packet of half of what has been found, if that is much and no packet waits for a worker.
fn share<T: Trace>(tracer: &mut DefaultObjectTracer<T>) {
    let bucket = &tracer.worker.scheduler().work_buckets[tracer.stage];
    if tracer.queue.len() < LEAST_SHARED || !bucket.is_empty() {
        return;
    }
    let mut found = tracer.queue.take();
    found
        .drain(found.len() / 2..)
        .for_each(|object| tracer.queue.push(object));
    bucket.add(ProcessNodes::<T>::new(found, tracer.stage));
}

/// Scans `objects`, which are marked, and all that is marked by that. `T` must not move objects.
///
/// In concurrent marking, the final pause is due where nothing is left to mark: a program that allocates nothing would never ask for it.
pub(crate) fn trace_all<T: Trace>(
    mut objects: Vec<ObjectReference>,
    worker: &mut GCWorker<T::VM>,
    stage: WorkBucketStage,
) {
    let (tls, mmtk) = (worker.tls, worker.mmtk);
    let trace = T::from_mmtk(mmtk);
    // Other plans have nothing to do there.
    let marks_lines = mmtk.get_plan().constraints().moves_objects;
    // Makes a packet of what it has found when that fills one.
    let mut tracer = DefaultObjectTracer::<T>::new(worker, trace.clone(), stage);
    while !objects.is_empty() {
        for (scanned, &object) in objects.iter().enumerate() {
            if scanned % SCANNED_BETWEEN == 0 {
                share(&mut tracer);
            }
            if let Some(later) = objects.get(scanned + AHEAD) {
                prefetch(later.to_raw_address().as_usize());
            }
            <T::VM as VMBinding>::VMScanning::scan_object_and_trace_edges(tls, object, &mut tracer);
            if marks_lines {
                trace.post_scan_object(object);
            }
        }
        // With the same two buffers for all links of a chain.
        objects.clear();
        tracer.queue.swap(&mut objects);
    }
    // In the final pause, what the barrier has told of last comes here too. That pause may begin as soon as it is asked for.
    let is_concurrent = mmtk.state.gc_status.load() == GcStatus::InConcurrentGC;
    if is_concurrent && worker.scheduler().work_buckets[WorkBucketStage::Concurrent].is_drained() {
        mmtk.gc_trigger.poll(false, None);
    }
}

/// As [`trace_all`], but returns at `until` what is left to scan. An object whose scan would last beyond `until` is left too: an array may refer to
/// millions.
pub(crate) fn trace_until<T: Trace>(
    mut objects: Vec<ObjectReference>,
    worker: &mut GCWorker<T::VM>,
    until: Instant,
) -> Vec<ObjectReference> {
    let tls = worker.tls;
    let trace = T::from_mmtk(worker.mmtk);
    let is_late = |nanos| Instant::now() + Duration::from_nanos(nanos) >= until;
    let mut left = Vec::new();
    for scanned in 0.. {
        if scanned % SCANNED_BETWEEN == 0 && is_late(0) {
            break;
        }
        let Some(object) = objects.pop() else {
            break;
        };
        let bytes = <T::VM as VMBinding>::VMScanning::scanned_bytes(object);
        if bytes > LONG && is_late(bytes as u64 * NANOS_A_BYTE) {
            left.push(object);
            continue;
        }
        let mut tracer =
            |child| trace.trace_object(worker, child, &mut |found| objects.push(found));
        <T::VM as VMBinding>::VMScanning::scan_object_and_trace_edges(tls, object, &mut tracer);
        trace.post_scan_object(object);
    }
    left.append(&mut objects);
    left
}

/// Marks `objects`. Returns those that were not marked before.
pub(crate) fn mark<T: Trace>(
    objects: Vec<ObjectReference>,
    worker: &mut GCWorker<T::VM>,
) -> Vec<ObjectReference> {
    let trace = T::from_mmtk(worker.mmtk);
    let mut marked = VectorObjectQueue::new();
    for object in objects {
        trace.trace_object(worker, object, &mut marked);
    }
    marked.take()
}

/// Marks `objects` and all that they lead to, concurrently.
pub(crate) fn mark_concurrently<T: Trace>(
    objects: Vec<ObjectReference>,
    worker: &mut GCWorker<T::VM>,
) {
    let marked = mark::<T>(objects, worker);
    trace_all::<T>(marked, worker, WorkBucketStage::Concurrent);
}
