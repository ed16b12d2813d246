// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plan StickyMarkSweep: generations in a mark-sweep heap that does not move.
//!
//! Mark bits are kept from one collection to the next, so that a marked object is an old one (A. Demers et al., "Combining
//! Generational and Conservative Garbage Collection", POPL 1990). A partial collection traces from the roots, and from the
//! old objects that the barrier has remembered, to objects that are not marked. It releases the blocks from which cells
//! were handed out since the last collection, and looks at no other.
//!
//! | | partial | full |
//! |---|---|---|
//! | Prepare | marks stay | marks and old bits are cleared |
//! | Closure | remembered objects are scanned; objects without a mark are marked | all live objects are marked |
//! | Release | young blocks: what is marked is old | all blocks: what is marked is old, if the next collection may be partial |
//!
//! A collection is partial unless the program asks for one, the one before did not free what a thread waits for, or a full one
//! pays, see [`Cycle`]. Where full ones follow each other nothing is old, and the barrier remembers nothing. When one comes, though
//! the heap is not full, says [`Nursery`].

use crate::plan::barriers::{BarrierSelector, BarrierSemantics, ObjectBarrier};
use crate::plan::generational::barrier::GenObjectBarrierSemantics;
use crate::plan::generational::gc_work::GenNurseryTrace;
use crate::plan::generational::global::{GenerationalPlan, GenerationalPlanExt};
use crate::plan::global::{BasePlan, CommonPlan, CreateGeneralPlanArgs, CreateSpecificPlanArgs};
use crate::plan::marksweep::mutator::{
    ms_mutator_prepare, ms_mutator_release, ALLOCATOR_MAPPING, RESERVED_ALLOCATORS,
};
use crate::plan::mutator_context::{create_space_mapping, MutatorBuilder, MutatorConfig};
use crate::plan::tracing::{ObjectQueue, PlanTrace};
use crate::plan::{AllocationSemantics, Mutator, Plan, PlanConstraints};
use crate::policy::gc_work::{TraceKind, DEFAULT_TRACE};
use crate::policy::sft::SFT;
use crate::policy::space::Space;
use crate::scheduler::{GCWorkContext, GCWorkScheduler, GCWorker};
use crate::shardsweep::{processor_time_of_workers, MarkSweepSpace, MAX_OBJECT_SIZE};
use crate::util::alloc::AllocatorSelector;
use crate::util::heap::gc_trigger::SpaceStats;
use crate::util::heap::VMRequest;
use crate::util::metadata::extract_side_metadata;
use crate::util::metadata::side_metadata::SideMetadataContext;
use crate::util::{Address, ObjectReference, VMMutatorThread, VMWorkerThread};
use crate::vm::slot::MemorySlice;
use crate::vm::{ObjectModel, VMBinding};
use crate::MMTK;
use enum_map::EnumMap;
use mmtk_macros::{HasSpaces, PlanTraceObject};
use shardsweep_policy::{Cycle, Nursery};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::Duration;

/// What the plan asks of the VM: a barrier that remembers old objects.
pub const STICKY_MARK_SWEEP_CONSTRAINTS: PlanConstraints = PlanConstraints {
    moves_objects: false,
    max_non_los_default_alloc_bytes: MAX_OBJECT_SIZE,
    may_trace_duplicate_edges: true,
    needs_log_bit: true,
    barrier: BarrierSelector::ObjectBarrier,
    generational: true,
    ..PlanConstraints::default()
};

/// What a collection yields in cells on pages that are charged counts for one part in so many: threads sweep for them, and find them
/// scattered among old objects.
const CELL_FRACTION: usize = 8;

/// The plan.
#[derive(HasSpaces, PlanTraceObject)]
pub struct StickyMarkSweep<VM: VMBinding> {
    #[parent]
    common: CommonPlan<VM>,
    #[space]
    ms: MarkSweepSpace<VM>,
    /// Whether this collection, or the last one, is full.
    full: AtomicBool,
    /// Whether the next one has to be.
    next_full: AtomicBool,
    /// What workers had used of the processors when this collection, or the last one, began.
    used_before: Mutex<Duration>,
    /// What the collections since the last full one have cost, in nanoseconds of a processor, and yielded.
    cycle: Mutex<Cycle>,
    /// How large the nursery is, where the option `nursery` does not say.
    nursery: Nursery,
}

/// The work of a partial collection.
struct PartialWork<VM: VMBinding>(PhantomData<VM>);

impl<VM: VMBinding> GCWorkContext for PartialWork<VM> {
    type VM = VM;
    type PlanType = StickyMarkSweep<VM>;
    type DefaultTrace = GenNurseryTrace<VM, StickyMarkSweep<VM>, DEFAULT_TRACE>;
    type PinningTrace = GenNurseryTrace<VM, StickyMarkSweep<VM>, DEFAULT_TRACE>;
}

/// The work of a full collection.
struct FullWork<VM: VMBinding>(PhantomData<VM>);

impl<VM: VMBinding> GCWorkContext for FullWork<VM> {
    type VM = VM;
    type PlanType = StickyMarkSweep<VM>;
    type DefaultTrace = PlanTrace<StickyMarkSweep<VM>, DEFAULT_TRACE>;
    type PinningTrace = PlanTrace<StickyMarkSweep<VM>, DEFAULT_TRACE>;
}

impl<VM: VMBinding> StickyMarkSweep<VM> {
    pub(crate) fn new(args: CreateGeneralPlanArgs<VM>) -> Self {
        let log_bits = extract_side_metadata(&[*VM::VMObjectModel::GLOBAL_LOG_BIT_SPEC]);
        let mut plan_args = CreateSpecificPlanArgs {
            global_args: args,
            constraints: &STICKY_MARK_SWEEP_CONSTRAINTS,
            global_side_metadata_specs: SideMetadataContext::new_global_specs(&log_bits),
        };
        let space_args =
            plan_args.get_normal_space_args("ms", true, false, VMRequest::discontiguous());
        let ms = MarkSweepSpace::new(space_args);
        StickyMarkSweep {
            nursery: Nursery::new(ms.free_pages()),
            ms,
            common: CommonPlan::new(plan_args),
            full: AtomicBool::new(true),
            // Nothing is old before the first.
            next_full: AtomicBool::new(true),
            used_before: Mutex::default(),
            cycle: Mutex::default(),
        }
    }

    /// Whether the collection that begins is to be full. A thread that asks for a full one after this gets the next.
    fn take_full_due(&self) -> bool {
        let attempts = &self.common.base.global_state.cur_collection_attempts;
        let is_asked_for = self.next_full.swap(false, Ordering::Relaxed);
        let pays = self.note_yield();
        is_asked_for || pays || !self.ms.makes_old() || attempts.load(Ordering::Relaxed) > 1
    }

    /// Notes what the last collection has yielded. Returns whether a full one pays now.
    fn note_yield(&self) -> bool {
        let mut cycle = self.cycle.lock().unwrap();
        if self.base().global_state.is_user_triggered_collection() {
            cycle.forget_partial();
        } else {
            cycle.note_yield(self.young_pages() + self.ms.reused_pages() / CELL_FRACTION);
        }
        cycle.is_over()
    }

    /// How many pages have been charged since the last collection.
    fn young_pages(&self) -> usize {
        self.ms
            .charged_pages()
            .saturating_sub(self.ms.charged_after())
    }

    /// Pages that may be charged between two collections.
    fn nursery_pages(&self) -> usize {
        let base = self.base();
        if base.options.nursery.was_set() {
            // With none a collection would be due as soon as the last one has ended.
            base.gc_trigger.get_max_nursery_pages().max(1)
        } else {
            self.nursery.pages()
        }
    }

    /// Whether the nursery is used up. What a thread asks for now does not count: it may be larger.
    fn is_nursery_full(&self) -> bool {
        self.young_pages() >= self.nursery_pages()
    }

    /// Notes what the collection has cost.
    fn note_cost(&mut self) {
        let used = processor_time_of_workers().saturating_sub(*self.used_before.get_mut().unwrap());
        let cost = used.as_nanos() as u64;
        let cycle = self.cycle.get_mut().unwrap();
        let full = *self.full.get_mut();
        let is_telling = self.nursery.note_cost(full, cost);
        if full {
            cycle.begin(cost);
        } else if is_telling {
            cycle.add_partial(cost);
        } else {
            cycle.pass_over();
        }
    }
}

impl<VM: VMBinding> Plan for StickyMarkSweep<VM> {
    fn schedule_collection(&'static self, scheduler: &GCWorkScheduler<VM>) {
        let full = self.take_full_due();
        self.full.store(full, Ordering::Relaxed);
        *self.used_before.lock().unwrap() = processor_time_of_workers();
        if full {
            scheduler.schedule_common_work::<FullWork<VM>>(self);
        } else {
            scheduler.schedule_common_work::<PartialWork<VM>>(self);
        }
    }

    fn get_allocator_mapping(&self) -> &'static EnumMap<AllocationSemantics, AllocatorSelector> {
        &ALLOCATOR_MAPPING
    }

    fn prepare(&mut self, tls: VMWorkerThread) {
        let full = self.last_collection_full_heap();
        self.common.prepare(tls, full);
        self.ms.prepare(full);
        if full {
            self.ms.set_makes_old(self.cycle.get_mut().unwrap().end());
        }
    }

    fn release(&mut self, tls: VMWorkerThread) {
        let full = self.last_collection_full_heap();
        self.ms.release();
        self.common.release(tls, full);
    }

    fn end_of_pause(&mut self, mmtk: &'static MMTK<VM>, tls: VMWorkerThread) {
        self.ms.end_of_gc();
        self.common.end_of_pause(tls);
        mmtk.gc_trigger.policy.on_gc_end(mmtk);
        self.note_cost();
        let next_full = !self.ms.makes_old();
        self.nursery.begin(self.ms.free_pages(), next_full);
    }

    fn collection_required(&self, space_full: bool, _space: Option<SpaceStats<Self::VM>>) -> bool {
        self.base().collection_required(self, space_full) || self.is_nursery_full()
    }

    fn last_collection_was_exhaustive(&self) -> bool {
        self.last_collection_full_heap()
    }

    fn current_gc_may_move_object(&self) -> bool {
        false
    }

    fn get_used_pages(&self) -> usize {
        self.common.get_used_pages() + self.ms.reserved_pages()
    }

    fn base(&self) -> &BasePlan<VM> {
        &self.common.base
    }

    fn base_mut(&mut self) -> &mut BasePlan<VM> {
        &mut self.common.base
    }

    fn common(&self) -> &CommonPlan<VM> {
        &self.common
    }

    fn constraints(&self) -> &'static PlanConstraints {
        &STICKY_MARK_SWEEP_CONSTRAINTS
    }

    fn generational(&self) -> Option<&dyn GenerationalPlan<VM = VM>> {
        Some(self)
    }
}

impl<VM: VMBinding> GenerationalPlan for StickyMarkSweep<VM> {
    fn is_current_gc_nursery(&self) -> bool {
        !self.last_collection_full_heap()
    }

    fn is_object_in_nursery(&self, object: ObjectReference) -> bool {
        self.ms.in_space(object) && !self.ms.is_live(object)
    }

    /// Which objects are young is known of objects alone: a copied region counts as old.
    fn is_address_in_nursery(&self, _address: Address) -> bool {
        false
    }

    fn get_mature_physical_pages_available(&self) -> usize {
        self.ms.available_physical_pages()
    }

    fn get_mature_reserved_pages(&self) -> usize {
        self.ms.reserved_pages()
    }

    fn last_collection_full_heap(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    fn force_full_heap_collection(&self) {
        self.next_full.store(true, Ordering::Relaxed);
    }
}

impl<VM: VMBinding> GenerationalPlanExt<VM> for StickyMarkSweep<VM> {
    fn trace_object_nursery<Q: ObjectQueue, const KIND: TraceKind>(
        &self,
        queue: &mut Q,
        object: ObjectReference,
        _worker: &mut GCWorker<VM>,
    ) -> ObjectReference {
        // An old object is marked already.
        self.ms.trace(queue, object)
    }
}

/// What the barrier does with what it finds: what it does under other generational plans, but for an array that references are
/// copied into. That is remembered as a whole, as if it were stored into. A note of the slots of each copy would be one of many, which
/// add up where nothing is allocated that would make a collection come.
struct StickyBarrier<VM: VMBinding> {
    plan: &'static StickyMarkSweep<VM>,
    remembered: GenObjectBarrierSemantics<VM, StickyMarkSweep<VM>>,
}

impl<VM: VMBinding> StickyBarrier<VM> {
    /// Takes note that `object` is remembered. False if it is already, or young.
    fn log(object: ObjectReference) -> bool {
        let unlogged = Self::UNLOG_BIT_SPEC;
        unlogged.load_atomic::<VM, u8>(object, None, Ordering::Relaxed) != 0
            && unlogged.fetch_and_metadata::<VM, u8>(object, 0, Ordering::SeqCst) != 0
    }
}

impl<VM: VMBinding> BarrierSemantics for StickyBarrier<VM> {
    type VM = VM;

    fn flush(&mut self) {
        self.remembered.flush();
    }

    fn object_reference_write_slow(
        &mut self,
        object: ObjectReference,
        slot: VM::VMSlot,
        target: Option<ObjectReference>,
    ) {
        self.remembered
            .object_reference_write_slow(object, slot, target);
    }

    fn memory_region_copy_slow(&mut self, source: VM::VMMemorySlice, copy: VM::VMMemorySlice) {
        match self.plan.ms.object_at(copy.start()) {
            Some(array) if Self::log(array) => self.remembered.object_probable_write_slow(array),
            Some(_) => {}
            None => self.remembered.memory_region_copy_slow(source, copy),
        }
    }

    fn object_probable_write_slow(&mut self, object: ObjectReference) {
        self.remembered.object_probable_write_slow(object);
    }
}

pub(crate) fn create_sticky_mark_sweep_mutator<VM: VMBinding>(
    tls: VMMutatorThread,
    mmtk: &'static MMTK<VM>,
) -> Mutator<VM> {
    let plan = mmtk.get_plan();
    let sticky: &'static StickyMarkSweep<VM> = plan.downcast_ref().expect("this plan is in use");
    let mut spaces = create_space_mapping(RESERVED_ALLOCATORS, true, plan);
    spaces.push((AllocatorSelector::FreeList(0), &sticky.ms));
    let config = MutatorConfig {
        allocator_mapping: &ALLOCATOR_MAPPING,
        space_mapping: Box::new(spaces),
        prepare_func: &ms_mutator_prepare,
        release_func: &ms_mutator_release,
    };
    let remembered = GenObjectBarrierSemantics::new(mmtk, sticky);
    let barrier = Box::new(ObjectBarrier::new(StickyBarrier {
        plan: sticky,
        remembered,
    }));
    MutatorBuilder::new(tls, mmtk, config)
        .barrier(barrier)
        .build()
}
