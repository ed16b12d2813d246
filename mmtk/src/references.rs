// SPDX-License-Identifier: MIT OR Apache-2.0
//! Soft, weak, final and phantom references, with the semantics of HotSpot's collectors
//! (`referenceProcessor.cpp`, and `java.lang.ref`'s package description).
//!
//! *Discovery*: while the trace from the roots runs, a reference object whose referent has not been
//! reached yet is put on a list, and neither its referent nor `discovered` is traced; any other
//! reference object is scanned like a plain object. *Processing* then takes the lists in stages:
//!
//! 1. soft and weak: if the referent was reached after all, the field gets its new address;
//!    otherwise it is cleared, and the reference becomes pending;
//! 2. final: an unreached referent is kept alive, for its finalizer, and the reference becomes
//!    pending and inactive (`next` refers to itself); the trace goes on from there;
//! 3. phantom, as 1, after that trace; then the VM's weak roots.
//!
//! Workers share each stage: they claim pieces of the lists, and each has pending references of its own, which are joined when the
//! stage ends.
//!
//! From the beginning of stage 1 on nothing is discovered: a reference object that only a finalizer can
//! reach is strong in this collection. Pending references are linked through `discovered` and
//! handed to the VM, whose reference handler thread enqueues them.
//!
//! All references on the lists are reached objects, at their new address in plans that copy. Under
//! mark-compact, which moves objects after this, the second trace updates every field.

use crate::abi::Phase;
use crate::layout::{self, Object, Strength};
use crate::sharing::share;
use crate::slot::OopSlot;
use crate::{upcalls, OpenJDK};
use mmtk::memory_manager;
use mmtk::scheduler::{GCWorker, WorkBucketStage};
use mmtk::util::{Address, ObjectReference, VMWorkerThread};
use mmtk::vm::slot::Slot;
use mmtk::vm::{ObjectTracer, ObjectTracerContext, ReferenceGlue};
use std::iter;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// What a collection does with soft references. Times are milliseconds of the VM's soft reference
/// clock.
#[derive(Clone, Copy, Debug)]
pub struct SoftPolicy {
    /// Clear every soft reference whose referent is not strongly reachable.
    pub clear_all: bool,
    /// The time now.
    pub clock: i64,
    /// The time since its last use after which a soft reference is cleared.
    pub max_age: i64,
}

impl SoftPolicy {
    /// The last use before which a soft reference is cleared.
    fn oldest_use(&self) -> i64 {
        if self.clear_all {
            i64::MAX
        } else {
            self.clock.saturating_sub(self.max_age)
        }
    }
}

/// What processing needs to know of the heap; a seam for tests.
trait Heap {
    /// The referent of a reference object.
    fn referent(&self, reference: ObjectReference) -> Option<ObjectReference>;
    /// Stores the referent.
    fn set_referent(&self, reference: ObjectReference, referent: Option<ObjectReference>);
    /// Stores `next`.
    fn set_next(&self, reference: ObjectReference, next: ObjectReference);
    /// Stores `discovered`.
    fn set_discovered(&self, reference: ObjectReference, next: Option<ObjectReference>);
    /// Whether the trace has reached an object.
    fn is_reachable(&self, object: ObjectReference) -> bool;
    /// The new address of a reached object.
    fn forwarded(&self, object: ObjectReference) -> ObjectReference;
}

/// The heap of the VM.
struct JavaHeap<const COMPRESSED: bool>;

impl<const COMPRESSED: bool> JavaHeap<COMPRESSED> {
    fn slot(
        reference: ObjectReference,
        field: fn(&Object<'static>) -> Address,
    ) -> OopSlot<COMPRESSED> {
        // SAFETY: only reached reference objects are on the lists.
        OopSlot::from_field(field(&unsafe { Object::new(reference, layout::layout()) }))
    }
}

impl<const COMPRESSED: bool> Heap for JavaHeap<COMPRESSED> {
    fn referent(&self, reference: ObjectReference) -> Option<ObjectReference> {
        Self::slot(reference, Object::referent).load()
    }

    fn set_referent(&self, reference: ObjectReference, referent: Option<ObjectReference>) {
        Self::slot(reference, Object::referent).store_nullable(referent);
    }

    fn set_next(&self, reference: ObjectReference, next: ObjectReference) {
        Self::slot(reference, Object::next).store(next);
    }

    fn set_discovered(&self, reference: ObjectReference, next: Option<ObjectReference>) {
        Self::slot(reference, Object::discovered).store_nullable(next);
    }

    fn is_reachable(&self, object: ObjectReference) -> bool {
        object.is_reachable()
    }

    fn forwarded(&self, object: ObjectReference) -> ObjectReference {
        object.get_forwarded_object().unwrap_or(object)
    }
}

/// References to hand to the VM, linked through `discovered`.
#[derive(Default)]
struct Pending {
    head: Option<ObjectReference>,
    tail: Option<ObjectReference>,
}

impl Pending {
    fn push(&mut self, heap: &impl Heap, reference: ObjectReference) {
        heap.set_discovered(reference, self.head);
        self.head = Some(reference);
        self.tail.get_or_insert(reference);
    }

    /// Puts `others` in front.
    fn join(&mut self, heap: &impl Heap, others: Self) {
        if let Some(tail) = others.tail {
            heap.set_discovered(tail, self.head);
            self.head = others.head;
            self.tail = self.tail.or(others.tail);
        }
    }
}

/// Stages 1 and 3: clears the references whose referent is unreached and makes them pending.
fn clear_unreached(
    heap: &impl Heap,
    references: impl IntoIterator<Item = ObjectReference>,
) -> Pending {
    let mut pending = Pending::default();
    for reference in references {
        let Some(referent) = heap.referent(reference) else {
            continue;
        };
        if heap.is_reachable(referent) {
            heap.set_referent(reference, Some(heap.forwarded(referent)));
        } else {
            heap.set_referent(reference, None);
            pending.push(heap, reference);
        }
    }
    pending
}

/// Stage 2, first half: keeps the references whose referent is unreached, updates the others.
fn finalizable(
    heap: &impl Heap,
    references: impl IntoIterator<Item = ObjectReference>,
) -> Vec<ObjectReference> {
    let is_unreached = |&reference: &ObjectReference| match heap.referent(reference) {
        Some(referent) if heap.is_reachable(referent) => {
            heap.set_referent(reference, Some(heap.forwarded(referent)));
            false
        }
        referent => referent.is_some(),
    };
    references.into_iter().filter(is_unreached).collect()
}

/// Stage 2, second half: keeps the referents alive through `trace` and makes the references
/// pending.
fn revive(
    heap: &impl Heap,
    references: impl IntoIterator<Item = ObjectReference>,
    mut trace: impl FnMut(ObjectReference) -> ObjectReference,
) -> Pending {
    let mut pending = Pending::default();
    for reference in references {
        let referent = heap.referent(reference).map(&mut trace);
        heap.set_referent(reference, referent);
        heap.set_next(reference, reference);
        pending.push(heap, reference);
    }
    pending
}

/// How many references a worker claims at once.
const PIECE: usize = 128;
/// How many are worth a worker more, which takes some time to wake. HotSpot's collectors have the same number.
const WORTH_A_WORKER: usize = 1000;

/// References of one strength, for workers to go through together: lists, and how many pieces of each are claimed.
struct References(Vec<(Vec<ObjectReference>, AtomicUsize)>);

impl References {
    fn new(lists: impl IntoIterator<Item = Vec<ObjectReference>>) -> Self {
        let unclaimed = |list| (list, AtomicUsize::new(0));
        Self(lists.into_iter().map(unclaimed).collect())
    }

    fn len(&self) -> usize {
        self.0.iter().map(|(list, _)| list.len()).sum()
    }

    /// Those that the caller claims, until none is left.
    fn claim(&self) -> impl Iterator<Item = ObjectReference> + '_ {
        self.0.iter().flat_map(|(list, claimed)| {
            let next = || claimed.fetch_add(1, Ordering::Relaxed);
            let piece = move || list.chunks(PIECE).nth(next());
            iter::from_fn(piece).flatten().copied()
        })
    }

    /// Runs a stage on as many workers as the references are worth. Returns what each has made of those it has claimed.
    fn process<const COMPRESSED: bool, T: Send + 'static>(
        self,
        worker: &mut GCWorker<OpenJDK<COMPRESSED>>,
        stage: impl FnOnce(&mut GCWorker<OpenJDK<COMPRESSED>>, &Self) -> T + Clone + Send + 'static,
    ) -> Vec<T> {
        let all_workers = memory_manager::num_of_workers(worker.mmtk);
        let workers = all_workers.min(1 + self.len() / WORTH_A_WORKER);
        let references = Arc::new(self);
        share(
            worker,
            WorkBucketStage::VMRefClosure,
            workers,
            move |worker| stage(worker, &references),
        )
    }
}

/// One list for each strength.
#[derive(Default)]
struct Lists {
    soft: Vec<ObjectReference>,
    weak: Vec<ObjectReference>,
    finals: Vec<ObjectReference>,
    phantom: Vec<ObjectReference>,
}

impl Lists {
    const fn new() -> Self {
        Self {
            soft: Vec::new(),
            weak: Vec::new(),
            finals: Vec::new(),
            phantom: Vec::new(),
        }
    }

    fn of(&mut self, strength: Strength) -> &mut Vec<ObjectReference> {
        match strength {
            Strength::Soft => &mut self.soft,
            Strength::Weak => &mut self.weak,
            Strength::Final => &mut self.finals,
            Strength::Phantom => &mut self.phantom,
        }
    }
}

/// What two calls of [`Discovery::process`] share.
#[derive(Default)]
struct Processing {
    /// Whether stages 1 and 2 are over.
    finals_done: bool,
    pending: Pending,
}

/// Lists for workers to fill in parallel; two workers that share one only wait for each other.
const SHARDS: usize = 16;

/// The discovered references of the collection that is running.
pub struct Discovery {
    on: AtomicBool,
    /// Of a soft reference that is not cleared for its age, on the VM's soft reference clock.
    oldest_use: AtomicI64,
    shards: [Mutex<Lists>; SHARDS],
    processing: Mutex<Processing>,
}

/// There is one collection at a time.
pub static DISCOVERY: Discovery = Discovery::new();

/// No code panics while it holds a lock and lets the process live, so that none is ever poisoned.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .expect("a thread panicked while it held this lock")
}

impl Discovery {
    const fn new() -> Self {
        Self {
            on: AtomicBool::new(false),
            oldest_use: AtomicI64::new(0),
            shards: [const { Mutex::new(Lists::new()) }; SHARDS],
            processing: Mutex::new(Processing {
                finals_done: false,
                pending: Pending {
                    head: None,
                    tail: None,
                },
            }),
        }
    }

    /// Starts discovery. Called when the mutators are stopped.
    pub fn begin(&self, policy: SoftPolicy) {
        self.oldest_use
            .store(policy.oldest_use(), Ordering::Relaxed);
        *lock(&self.processing) = Processing::default();
        self.on.store(true, Ordering::Release);
    }

    fn add(&self, worker: VMWorkerThread, strength: Strength, reference: ObjectReference) {
        // Threads are some KiB long each: above that, neighbours differ.
        let shard = (worker.0 .0.to_address().as_usize() >> 10) % SHARDS;
        lock(&self.shards[shard]).of(strength).push(reference);
    }

    /// How many references of a strength there are.
    fn count(&self, strength: Strength) -> usize {
        let count = |shard: &Mutex<Lists>| lock(shard).of(strength).len();
        self.shards.iter().map(count).sum()
    }

    /// Empties the lists of a strength.
    fn take(&self, strength: Strength) -> References {
        let take = |shard: &Mutex<Lists>| std::mem::take(lock(shard).of(strength));
        References::new(self.shards.iter().map(take))
    }

    /// Stages 1 and 3, for the references of one strength.
    fn clear<const COMPRESSED: bool>(
        &self,
        worker: &mut GCWorker<OpenJDK<COMPRESSED>>,
        strength: Strength,
        pending: &mut Pending,
    ) {
        let heap = &JavaHeap::<COMPRESSED>;
        let cleared = self.take(strength).process(worker, |_, references| {
            clear_unreached(heap, references.claim())
        });
        for some in cleared {
            pending.join(heap, some);
        }
    }

    /// Stage 2. Whether it has made work for the trace.
    fn finalize<const COMPRESSED: bool>(
        &self,
        worker: &mut GCWorker<OpenJDK<COMPRESSED>>,
        tracer_context: impl ObjectTracerContext<OpenJDK<COMPRESSED>>,
        pending: &mut Pending,
    ) -> bool {
        let heap = &JavaHeap::<COMPRESSED>;
        let finals = self.take(Strength::Final).process(worker, |_, references| {
            finalizable(heap, references.claim())
        });
        // Not before all have been looked at: several may have one referent, and one may lead to another's.
        let finals = References::new(finals);
        if finals.len() == 0 {
            return false;
        }
        let revived = finals.process(worker, move |worker, references| {
            tracer_context.with_tracer(worker, |tracer| {
                revive(heap, references.claim(), |object| {
                    tracer.trace_object(object)
                })
            })
        });
        for some in revived {
            pending.join(heap, some);
        }
        true
    }

    /// Runs the stages that can run now. True: call again when the trace is complete once more.
    pub fn process<const COMPRESSED: bool>(
        &self,
        worker: &mut GCWorker<OpenJDK<COMPRESSED>>,
        tracer_context: impl ObjectTracerContext<OpenJDK<COMPRESSED>>,
    ) -> bool {
        let mut state = lock(&self.processing);
        let state = &mut *state;
        if !state.finals_done {
            state.finals_done = true;
            upcalls::begin_phase(Phase::SoftReferences);
            self.on.store(false, Ordering::Release);
            upcalls::report_discovered_references(
                self.count(Strength::Soft),
                self.count(Strength::Weak),
                self.count(Strength::Final),
                self.count(Strength::Phantom),
            );
            self.clear(worker, Strength::Soft, &mut state.pending);
            upcalls::begin_phase(Phase::WeakReferences);
            self.clear(worker, Strength::Weak, &mut state.pending);
            upcalls::begin_phase(Phase::FinalReferences);
            if self.finalize(worker, tracer_context, &mut state.pending) {
                return true;
            }
        }
        upcalls::begin_phase(Phase::PhantomReferences);
        self.clear(worker, Strength::Phantom, &mut state.pending);
        if let Pending {
            head: Some(head),
            tail: Some(tail),
        } = std::mem::take(&mut state.pending)
        {
            let heap = JavaHeap::<COMPRESSED>;
            heap.set_discovered(tail, upcalls::swap_reference_pending_list(head));
        }
        false
    }
}

/// Puts a reference object that is being scanned on a list, if that is where it belongs. False: it
/// is to be scanned like a plain object.
#[inline]
pub fn discover<const COMPRESSED: bool>(
    worker: VMWorkerThread,
    reference: ObjectReference,
    view: &Object,
) -> bool {
    if !DISCOVERY.on.load(Ordering::Acquire) {
        return false;
    }
    let load = |field| OopSlot::<COMPRESSED>::from_field(field).load();
    let (Some(strength), Some(referent)) = (view.strength(), load(view.referent())) else {
        return false;
    };
    let keeps = referent.is_reachable()
        || match strength {
            Strength::Soft => view.timestamp() >= DISCOVERY.oldest_use.load(Ordering::Relaxed),
            // Its finalizer has run, or is about to.
            Strength::Final => load(view.next()).is_some(),
            Strength::Weak | Strength::Phantom => false,
        };
    if !keeps {
        DISCOVERY.add(worker, strength, reference);
    }
    !keeps
}

/// mmtk-core's own reference processing, which is switched off: it knows neither HotSpot's order
/// nor its soft reference policy.
pub struct Unused;

impl<const COMPRESSED: bool> ReferenceGlue<OpenJDK<COMPRESSED>> for Unused {
    type FinalizableType = ObjectReference;

    fn clear_referent(_reference: ObjectReference) {
        unreachable!("no_reference_types is always set")
    }

    fn get_referent(_reference: ObjectReference) -> Option<ObjectReference> {
        unreachable!("no_reference_types is always set")
    }

    fn set_referent(_reference: ObjectReference, _referent: ObjectReference) {
        unreachable!("no_reference_types is always set")
    }

    fn enqueue_references(_references: &[ObjectReference], _worker: VMWorkerThread) {
        unreachable!("no_reference_types is always set")
    }
}

#[cfg(test)]
mod tests;
