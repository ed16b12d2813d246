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
//! From the end of stage 1 on nothing is discovered: a reference object that only a finalizer can
//! reach is strong in this collection. Pending references are linked through `discovered` and
//! handed to the VM, whose reference handler thread enqueues them.
//!
//! All references on the lists are reached objects, at their new address in plans that copy. Under
//! mark-compact, which moves objects after this, the second trace updates every field.

use crate::abi::Phase;
use crate::layout::{self, Object, Strength};
use crate::slot::OopSlot;
use crate::{upcalls, OpenJDK};
use mmtk::scheduler::GCWorker;
use mmtk::util::{Address, ObjectReference, VMWorkerThread};
use mmtk::vm::slot::Slot;
use mmtk::vm::{ObjectTracer, ObjectTracerContext, ReferenceGlue};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, RwLock};

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
    fn clears(&self, timestamp: i64) -> bool {
        self.clear_all || self.clock.saturating_sub(timestamp) > self.max_age
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
}

/// Stages 1 and 3: clears the references whose referent is unreached and makes them pending.
fn clear_unreached(heap: &impl Heap, references: Vec<ObjectReference>, pending: &mut Pending) {
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
}

/// Stage 2, first half: keeps the references whose referent is unreached, updates the others.
fn finalizable(heap: &impl Heap, references: Vec<ObjectReference>) -> Vec<ObjectReference> {
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
    references: Vec<ObjectReference>,
    pending: &mut Pending,
    mut trace: impl FnMut(ObjectReference) -> ObjectReference,
) {
    for reference in references {
        let referent = heap.referent(reference).map(&mut trace);
        heap.set_referent(reference, referent);
        heap.set_next(reference, reference);
        pending.push(heap, reference);
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

/// What is left to do between two calls of [`Discovery::process`].
#[derive(Default)]
struct Processing {
    /// Whether stages 1 and 2 are over.
    finals_done: bool,
    phantom: Vec<ObjectReference>,
    pending: Pending,
}

/// Lists for workers to fill in parallel; two workers that share one only wait for each other.
const SHARDS: usize = 16;

/// The discovered references of the collection that is running.
pub struct Discovery {
    on: AtomicBool,
    policy: RwLock<SoftPolicy>,
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
            policy: RwLock::new(SoftPolicy {
                clear_all: false,
                clock: 0,
                max_age: 0,
            }),
            shards: [const { Mutex::new(Lists::new()) }; SHARDS],
            processing: Mutex::new(Processing {
                finals_done: false,
                phantom: Vec::new(),
                pending: Pending {
                    head: None,
                    tail: None,
                },
            }),
        }
    }

    /// Starts discovery. Called when the mutators are stopped.
    pub fn begin(&self, policy: SoftPolicy) {
        *self.policy.write().expect("no reader panics") = policy;
        *lock(&self.processing) = Processing::default();
        self.on.store(true, Ordering::Release);
    }

    fn add(&self, worker: VMWorkerThread, strength: Strength, reference: ObjectReference) {
        // Threads are some KiB long each: above that, neighbours differ.
        let shard = (worker.0 .0.to_address().as_usize() >> 10) % SHARDS;
        lock(&self.shards[shard]).of(strength).push(reference);
    }

    /// Empties all shards.
    fn take(&self) -> Lists {
        let mut all = Lists::new();
        for shard in &self.shards {
            let mut lists = std::mem::take(&mut *lock(shard));
            for strength in [
                Strength::Soft,
                Strength::Weak,
                Strength::Final,
                Strength::Phantom,
            ] {
                all.of(strength).append(lists.of(strength));
            }
        }
        all
    }

    /// Runs the stages that can run now. True: call again when the trace is complete once more.
    pub fn process<const COMPRESSED: bool>(
        &self,
        worker: &mut GCWorker<OpenJDK<COMPRESSED>>,
        tracer_context: impl ObjectTracerContext<OpenJDK<COMPRESSED>>,
    ) -> bool {
        let heap = &JavaHeap::<COMPRESSED>;
        let mut state = lock(&self.processing);
        let state = &mut *state;
        if !state.finals_done {
            upcalls::begin_phase(Phase::SoftReferences);
            self.on.store(false, Ordering::Release);
            let lists = self.take();
            upcalls::report_discovered_references(
                lists.soft.len(),
                lists.weak.len(),
                lists.finals.len(),
                lists.phantom.len(),
            );
            clear_unreached(heap, lists.soft, &mut state.pending);
            upcalls::begin_phase(Phase::WeakReferences);
            clear_unreached(heap, lists.weak, &mut state.pending);
            upcalls::begin_phase(Phase::FinalReferences);
            let finals = finalizable(heap, lists.finals);
            state.phantom = lists.phantom;
            state.finals_done = true;
            if !finals.is_empty() {
                tracer_context.with_tracer(worker, |tracer| {
                    revive(heap, finals, &mut state.pending, |object| {
                        tracer.trace_object(object)
                    })
                });
                return true;
            }
        }
        upcalls::begin_phase(Phase::PhantomReferences);
        let phantom = std::mem::take(&mut state.phantom);
        clear_unreached(heap, phantom, &mut state.pending);
        if let Pending {
            head: Some(head),
            tail: Some(tail),
        } = std::mem::take(&mut state.pending)
        {
            heap.set_discovered(tail, upcalls::swap_reference_pending_list(head));
        }
        upcalls::process_weak_roots();
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
            Strength::Soft => {
                let policy = DISCOVERY.policy.read().expect("no writer panics");
                !policy.clears(view.timestamp())
            }
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
