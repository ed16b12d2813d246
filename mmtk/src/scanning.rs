// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scanning: which slots an object has, and which of them this trace follows.

use crate::abi::{RawSlot, RootSink};
use crate::collection::do_mutators_run;
use crate::layout::{self, Kind, Object};
use crate::references::{self, DISCOVERY};
use crate::slot::OopSlot;
use crate::{barrier, classes, phases, roots, upcalls, OpenJDK};
use mmtk::scheduler::GCWorker;
use mmtk::util::{Address, ObjectReference, VMWorkerThread};
use mmtk::vm::slot::Slot;
use mmtk::vm::{
    ObjectModel, ObjectTracer, ObjectTracerContext, RootsWorkFactory, Scanning, SlotVisitor,
    VMBinding,
};
use mmtk::Mutator;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the plan leaves objects where they are. Then what a slot holds is traced at once, and not written back: slots need
/// no queue.
static TRACES_EDGES: AtomicBool = AtomicBool::new(false);

/// Called once, before the first collection.
pub fn set_moves_objects(moves_objects: bool) {
    TRACES_EDGES.store(!moves_objects, Ordering::Relaxed);
}

/// HotSpot's objects and roots.
pub struct Scan;

impl<const COMPRESSED: bool> Scanning<OpenJDK<COMPRESSED>> for Scan {
    // A reference object is discovered when it is scanned: twice would put it on a list twice.
    const UNIQUE_OBJECT_ENQUEUING: bool = true;

    #[inline(always)]
    fn scan_object<SV: SlotVisitor<OopSlot<COMPRESSED>>>(
        worker: VMWorkerThread,
        object: ObjectReference,
        visitor: &mut SV,
    ) {
        scan(worker, object, visitor, |_| {});
    }

    fn scanned_bytes(object: ObjectReference) -> usize {
        // SAFETY: mmtk is about to scan it.
        let view = unsafe { Object::new(object, layout::layout()) };
        match view.kind() {
            Kind::TypeArray => 0,
            _ => view.bytes(),
        }
    }

    #[inline(always)]
    fn support_slot_enqueuing(_worker: VMWorkerThread, _object: ObjectReference) -> bool {
        !TRACES_EDGES.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn scan_object_and_trace_edges<OT: ObjectTracer>(
        worker: VMWorkerThread,
        object: ObjectReference,
        tracer: &mut OT,
    ) {
        scan::<COMPRESSED, _>(worker, object, &mut EdgeTracer(tracer), prefetch_mark);
    }

    fn notify_initial_thread_scan_complete(_partial_scan: bool, _worker: VMWorkerThread) {}

    fn scan_roots_in_mutator_thread(
        _worker: VMWorkerThread,
        mutator: &'static mut Mutator<OpenJDK<COMPRESSED>>,
        factory: impl RootsWorkFactory<OopSlot<COMPRESSED>>,
    ) {
        // mmtk flushes the mutator behind this.
        barrier::take_remembered(mutator);
        roots::scan_thread(mutator.mutator_tls.0, factory);
    }

    fn scan_vm_specific_roots(
        _worker: VMWorkerThread,
        factory: impl RootsWorkFactory<OopSlot<COMPRESSED>>,
    ) {
        roots::schedule_sets(factory);
    }

    fn supports_return_barrier() -> bool {
        false
    }

    fn prepare_for_roots_re_scanning() {
        roots::begin_second_scan();
    }

    fn process_weak_refs(
        worker: &mut GCWorker<OpenJDK<COMPRESSED>>,
        tracer_context: impl ObjectTracerContext<OpenJDK<COMPRESSED>>,
    ) -> bool {
        let again = DISCOVERY.process(worker, tracer_context);
        if !again {
            roots::process_weak(worker);
            phases::weak_roots_done::<COMPRESSED>();
        }
        again
    }

    fn forward_weak_refs(
        worker: &mut GCWorker<OpenJDK<COMPRESSED>>,
        _tracer_context: impl ObjectTracerContext<OpenJDK<COMPRESSED>>,
    ) {
        // The second trace has visited referent and discovered of every reference object, because
        // discovery is off by then: only roots are left.
        roots::forward_weak(worker);
    }
}

/// Traces what slots hold. A closure would be called for each slot, not inlined.
struct EdgeTracer<'a, OT>(&'a mut OT);

impl<const COMPRESSED: bool, OT: ObjectTracer> SlotVisitor<OopSlot<COMPRESSED>>
    for EdgeTracer<'_, OT>
{
    #[inline(always)]
    fn visit_slot(&mut self, slot: OopSlot<COMPRESSED>) {
        if let Some(target) = slot.load() {
            let traced = self.0.trace_object(target);
            debug_assert_eq!(traced, target, "the plan moves no objects");
        }
    }
}

/// Visits the slots of an object. Of long arrays, `announce` is told of slots before they are visited.
#[inline(always)]
fn scan<const COMPRESSED: bool, SV: SlotVisitor<OopSlot<COMPRESSED>>>(
    worker: VMWorkerThread,
    object: ObjectReference,
    visitor: &mut SV,
    announce: impl Fn(OopSlot<COMPRESSED>),
) {
    #[cfg(debug_assertions)]
    check::against_vm::<COMPRESSED>(object);
    // SAFETY: mmtk scans objects that are reached, at their new address if they have moved.
    let view = unsafe { Object::new(object, layout::layout()) };
    let kind = view.kind();
    view.visit_fields(
        kind,
        OopSlot::<COMPRESSED>::FIELD_BYTES,
        |field| announce(OopSlot::from_field(field)),
        |field| visitor.visit_slot(OopSlot::from_field(field)),
    );
    if kind == Kind::Reference && !references::discover::<COMPRESSED>(worker, object, &view) {
        visitor.visit_slot(OopSlot::from_field(view.referent()));
        visitor.visit_slot(OopSlot::from_field(view.discovered()));
    }
    // The class of a mirror may be freed beside marking: `VM_RedefineClasses` in `jvmtiRedefineClasses.cpp` does not wait for it. The
    // final mark looks for what mirrors alone lead to, the class loader data of hidden classes. It sees the mark of this one, or
    // this worker sees the pause.
    if classes::are_kept_by_objects() && (kind != Kind::Mirror || !do_mutators_run()) {
        view.visit_class_loader_data(kind, |data| {
            visit_class_loader_data::<COMPRESSED, _>(data, visitor)
        });
    }
}

/// Has the processor fetch the mark of what a slot holds. The elements of an array may lie anywhere, so that a trace spends
/// its time with waiting for their marks, one after the other.
#[inline(always)]
fn prefetch_mark<const COMPRESSED: bool>(slot: OopSlot<COMPRESSED>) {
    type Model<const COMPRESSED: bool> = <OpenJDK<COMPRESSED> as VMBinding>::VMObjectModel;
    let Some(target) = slot.load() else { return };
    let marks = <Model<COMPRESSED> as ObjectModel<OpenJDK<COMPRESSED>>>::LOCAL_MARK_BIT_SPEC
        .as_spec()
        .extract_side_spec();
    // A bit for each word.
    let mark = marks.get_starting_address() + (target.to_raw_address().as_usize() >> 6);
    #[cfg(target_arch = "x86_64")]
    // As the policy prefetches, of which `stock` has nothing.
    // SAFETY: a prefetch reads nothing that the program sees, whatever the address.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(mark.to_ptr());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = mark;
}

/// Visits the handles of a class loader data. Happens once a scan for each.
#[cold]
fn visit_class_loader_data<const COMPRESSED: bool, SV: SlotVisitor<OopSlot<COMPRESSED>>>(
    class_loader_data: Address,
    visitor: &mut SV,
) {
    unsafe extern "C" fn report<const COMPRESSED: bool, SV: SlotVisitor<OopSlot<COMPRESSED>>>(
        context: *mut c_void,
        slots: *const RawSlot,
        count: usize,
    ) {
        // SAFETY: `context` is the visitor below, which waits for the visit.
        let visitor = unsafe { &mut *context.cast::<SV>() };
        for index in 0..count {
            // SAFETY: the VM passes `count` slots.
            visitor.visit_slot(OopSlot::from_raw(unsafe { *slots.add(index) }));
        }
    }
    upcalls::visit_class_loader_data(
        class_loader_data,
        &RootSink {
            report: report::<COMPRESSED, SV>,
            context: ptr::from_mut(visitor).cast(),
        },
    );
}

/// In builds with assertions, a sample of the scanned objects is compared with what the VM says.
#[cfg(debug_assertions)]
mod check {
    use super::*;
    use crate::abi;
    use crate::collection::pause;

    /// One object of this many words of the heap is checked, at most.
    const SAMPLE: usize = 31;
    /// Longer objects are left out: the check takes time and memory in proportion.
    const MAX_BYTES: usize = 64 << 10;

    /// Panics if size or slots of `object` are not those that the VM finds.
    pub fn against_vm<const COMPRESSED: bool>(object: ObjectReference) {
        if object.to_raw_address().as_usize() / layout::WORD % SAMPLE != 0 {
            return;
        }
        // Mutators would write to it between one look and the other.
        if do_mutators_run() {
            return;
        }
        // SAFETY: as in `scan_object`.
        let view = unsafe { Object::new(object, layout::layout()) };
        assert_eq!(
            view.bytes(),
            upcalls::debug_object_size(object),
            "size of {object}"
        );
        if view.bytes() > MAX_BYTES {
            return;
        }
        let kind = view.kind();
        let mut ours: Vec<RawSlot> = Vec::new();
        // The VM leaves out slots that hold null.
        let mut note = |field: Address| {
            if OopSlot::<COMPRESSED>::from_field(field).load().is_some() {
                ours.push(field.as_usize());
            }
        };
        view.visit_fields(kind, OopSlot::<COMPRESSED>::FIELD_BYTES, |_| {}, &mut note);
        // Of a loader that was there before, one may be new at a final mark. A second scan of roots may not have come to it.
        let may_be_unclaimed =
            pause::<COMPRESSED>() == abi::PAUSE_FINAL_MARK || roots::is_re_scanning();
        if !classes::are_kept_by_objects() && !may_be_unclaimed {
            view.visit_class_loader_data(kind, |data| panic!("{data} of {object} is no root"));
        }
        if kind == Kind::Reference {
            note(view.referent());
            note(view.discovered());
        }
        ours.sort_unstable();
        let mut of_vm = upcalls::debug_slots(object);
        of_vm.sort_unstable();
        assert_eq!(ours, of_vm, "slots of {object}, a {kind:?}");
    }
}
