// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plan ConcurrentMarkSweep: concurrent marking, in a mark-sweep heap that does not move.
//!
//! What was reachable when marking began is marked (snapshot at the beginning: T. Yuasa, "Real-time garbage collection on
//! general-purpose machines", J. Systems and Software 11(3), 1990), and all that is allocated since then.
//!
//! | pause | what happens |
//! |---|---|
//! | initial mark | marks are cleared, roots are read, marking begins; free cells that threads have at hand are marked |
//! | - | workers mark what is left; the barrier tells of references that are overwritten; cells are marked when they are handed out |
//! | final mark | what the barrier has told of last is marked; references and weak roots are processed; blocks are released |
//! | full | all of it at once: on request, or when marking has begun too late, or has ended too late and left little free |
//!
//! Where the initial mark leaves nothing to mark, the final one follows in the same safepoint. A worker that had to ask for it beside
//! the mutators would wait for a processor, while all that they allocate is taken for live.
//!
//! Sweeping is lazy and goes on while marking runs: it reads a copy of the marks, which the release of a collection makes in
//! the bits that other plans have for their barrier.
//!
//! *Pacing.* Marking begins when two things hold. Less is free than twice what is likely to be handed out while it runs; that bound
//! is a sixteenth of the heap at least and half of it at most. And half of what the last collection left free has been used, or a
//! quarter if that was a full one. See [`Pacing`].
//! A thread that finds the heap full while marking runs waits for the final mark; if that leaves little free, a full pause follows.

use crate::plan::barriers::{BarrierSelector, SATBBarrier};
use crate::plan::concurrent::barrier::SATBBarrierSemantics;
use crate::plan::concurrent::global::ConcurrentPlan;
use crate::plan::concurrent::Pause;
use crate::plan::global::{BasePlan, CommonPlan, CreateGeneralPlanArgs, CreateSpecificPlanArgs};
use crate::plan::marksweep::mutator::{
    ms_mutator_prepare, ms_mutator_release, ALLOCATOR_MAPPING, RESERVED_ALLOCATORS,
};
use crate::plan::mutator_context::{create_space_mapping, MutatorBuilder, MutatorConfig};
use crate::plan::tracing::gc_work::closure::ProcessNodes;
use crate::plan::tracing::gc_work::weakref::VMProcessWeakRefs;
use crate::plan::tracing::PlanTrace;
use crate::plan::{AllocationSemantics, HasSpaces, Mutator, Plan, PlanConstraints};
use crate::policy::gc_work::DEFAULT_TRACE;
use crate::policy::space::Space;
use crate::scheduler::gc_work::{Prepare, Release, StopMutators};
use crate::scheduler::{GCWorkContext, GCWorkScheduler, WorkBucketStage};
use crate::shardsweep::{
    Build, Config, FreeListAllocator, InitialRoots, MarkSweepSpace, Pacing, LEAST_FRACTION,
    MAX_OBJECT_SIZE, TO_THE_USER,
};
use crate::util::alloc::AllocatorSelector;
use crate::util::heap::gc_trigger::SpaceStats;
use crate::util::heap::VMRequest;
use crate::util::metadata::extract_side_metadata;
use crate::util::metadata::side_metadata::SideMetadataContext;
use crate::util::{VMMutatorThread, VMWorkerThread};
use crate::vm::{ActivePlan, ObjectModel, RootsWorkFactory, VMBinding};
use crate::MMTK;
use atomic::Atomic;
use enum_map::EnumMap;
use mmtk_macros::{HasSpaces, PlanTraceObject};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What the plan asks of the VM: a barrier that tells of references before they are overwritten.
pub const CONCURRENT_MARK_SWEEP_CONSTRAINTS: PlanConstraints = PlanConstraints {
    moves_objects: false,
    max_non_los_default_alloc_bytes: MAX_OBJECT_SIZE,
    may_trace_duplicate_edges: true,
    needs_log_bit: true,
    barrier: BarrierSelector::SATBBarrier,
    ..PlanConstraints::default()
};

/// How long after its beginning the initial pause goes on to mark, at most.
const INITIAL_MARK: Duration = Duration::from_millis(4);

/// The plan.
#[derive(HasSpaces, PlanTraceObject)]
pub struct ConcurrentMarkSweep<VM: VMBinding> {
    #[parent]
    common: CommonPlan<VM>,
    #[space]
    ms: MarkSweepSpace<VM>,
    /// What the pause is for that has been scheduled, or lasts, or follows the last one before mutators run again.
    pause: Atomic<Option<Pause>>,
    /// When the last initial pause was to mark no more.
    initial_mark_ends: Mutex<Instant>,
    /// Whether concurrent marking runs.
    marking: AtomicBool,
    /// Whether the next pause has to be full, unless marking runs.
    full_due: AtomicBool,
    /// Whether memory has run out while marking ran.
    was_late: AtomicBool,
    pacing: Pacing,
}

pub(crate) type Trace<VM> = PlanTrace<ConcurrentMarkSweep<VM>, DEFAULT_TRACE>;
type Semantics<VM> = SATBBarrierSemantics<VM, ConcurrentMarkSweep<VM>, DEFAULT_TRACE>;

/// The work of the two short pauses.
struct MarkWork<VM: VMBinding>(PhantomData<VM>);

impl<VM: VMBinding> GCWorkContext for MarkWork<VM> {
    type VM = VM;
    type PlanType = ConcurrentMarkSweep<VM>;
    type DefaultTrace = Trace<VM>;
    type PinningTrace = Trace<VM>;

    fn make_roots_work_factory(mmtk: &'static MMTK<VM>) -> impl RootsWorkFactory<VM::VMSlot> {
        InitialRoots(mmtk)
    }
}

/// The work of a full pause.
struct FullWork<VM: VMBinding>(PhantomData<VM>);

impl<VM: VMBinding> GCWorkContext for FullWork<VM> {
    type VM = VM;
    type PlanType = ConcurrentMarkSweep<VM>;
    type DefaultTrace = Trace<VM>;
    type PinningTrace = Trace<VM>;
}

impl<VM: VMBinding> ConcurrentMarkSweep<VM> {
    pub(crate) fn new(args: CreateGeneralPlanArgs<VM>) -> Self {
        let second_bits = extract_side_metadata(&[*VM::VMObjectModel::GLOBAL_LOG_BIT_SPEC]);
        let mut plan_args = CreateSpecificPlanArgs {
            global_args: args,
            constraints: &CONCURRENT_MARK_SWEEP_CONSTRAINTS,
            global_side_metadata_specs: SideMetadataContext::new_global_specs(&second_bits),
        };
        let space_args =
            plan_args.get_normal_space_args("ms", true, false, VMRequest::discontiguous());
        ConcurrentMarkSweep {
            ms: MarkSweepSpace::new(space_args),
            common: CommonPlan::new(plan_args),
            pause: Atomic::new(None),
            initial_mark_ends: Mutex::new(Instant::now()),
            marking: AtomicBool::new(false),
            full_due: AtomicBool::new(false),
            was_late: AtomicBool::new(false),
            pacing: Pacing::new(),
        }
    }

    fn is_marking(&self) -> bool {
        self.marking.load(Ordering::Acquire)
    }

    fn set_marking(&self, marking: bool) {
        self.for_each_space(&mut |space: &dyn Space<VM>| space.set_allocate_as_live(marking));
        self.marking.store(marking, Ordering::SeqCst);
    }

    /// What the pause is for that is to be scheduled.
    fn next_pause(&self) -> Pause {
        if self.is_marking() {
            // Workers come to a pause only when there is nothing left to mark.
            Pause::FinalMark
        } else if self.full_due.load(Ordering::Relaxed)
            || self.base().global_state.is_user_triggered_collection()
        {
            Pause::Full
        } else {
            Pause::InitialMark
        }
    }

    fn current(&self) -> Pause {
        let pause = self.pause.load(Ordering::SeqCst);
        pause.expect("mutators are stopped, or about to be")
    }

    /// When the initial pause that lasts is to mark no more.
    pub(crate) fn initial_mark_ends(&self) -> Instant {
        *self.initial_mark_ends.lock().unwrap()
    }

    /// Whether no packet of marking waits for a worker. Workers may still mark what they have taken.
    fn is_taken(&self) -> bool {
        let packets = &self.common.base.scheduler.work_buckets[WorkBucketStage::Concurrent];
        packets.is_drained()
    }

    /// Whether to ask for the final pause now. A worker asks when its packet is done. A mutator that asked would wait for the packets
    /// that workers still mark.
    fn is_final_mark_due(&self, by_worker: bool) -> bool {
        by_worker == self.do_workers_ask() && self.is_taken()
    }

    /// Whether workers ask for the final pause. Where live bytes are counted, mmtk's own packets mark, and none asks.
    fn do_workers_ask(&self) -> bool {
        !*self.base().options.count_live_bytes_in_gc
    }

    /// Notes that a thread has found the heap full.
    fn note_full_heap(&self) {
        // Where more is asked for than threads need for cells, a large object is: that says nothing of the cells that are left.
        let asked_for = self.get_used_pages().saturating_sub(self.charged_pages());
        if asked_for <= Build::BLOCK_PAGES * VM::VMActivePlan::number_of_mutators() {
            self.pacing.note_full(self.ms.free_cell_pages());
        }
        if !self.is_marking() {
            if !self.full_due.swap(true, Ordering::Relaxed) {
                info!(target: TO_THE_USER, "the heap is full before marking has begun: the next pause is a full one");
            }
        } else if !self.was_late.swap(true, Ordering::Relaxed) {
            info!(target: TO_THE_USER, "the heap is full while marking runs: threads wait for the final mark");
        }
    }

    /// Pages that are charged, with their metadata.
    fn charged_pages(&self) -> usize {
        self.common.get_used_pages() + self.ms.pages_with_metadata(self.ms.charged_pages())
    }

    /// Pages that are not charged. What threads ask for now does not count: marking would begin for a large object again and again,
    /// before it is allocated.
    fn free_pages(&self) -> usize {
        self.get_total_pages().saturating_sub(self.charged_pages())
    }

    /// What has been handed out, in pages, but for what was so when the last collection ended.
    fn handed_out(&self) -> usize {
        self.ms.charged_pages() + self.ms.reused_pages()
    }

    /// What is free, in pages.
    fn free(&self) -> usize {
        self.pacing
            .free(self.free_pages(), self.ms.free_cell_pages())
    }

    /// Notes how much the collection that ends, a full one or not, has left free. Where memory ran out before marking ended, and it
    /// has left little, the next pause is a full one, which finds more: what has died meanwhile, and what hangs on classes that nobody
    /// uses.
    fn note_yield(&self, full: bool) {
        self.pacing
            .note_free(self.free_pages(), self.ms.free_cell_pages(), full);
        let full_due = self.was_late.swap(false, Ordering::Relaxed)
            && self.free() < self.get_total_pages() / LEAST_FRACTION;
        if full_due {
            info!(target: TO_THE_USER, "marking has ended too late and left little free: the next pause is a full one");
        }
        self.full_due.store(full_due, Ordering::Relaxed);
    }

    fn schedule_initial_mark(&'static self, scheduler: &GCWorkScheduler<VM>) {
        let buckets = &scheduler.work_buckets;
        buckets[WorkBucketStage::Unconstrained].add(StopMutators::<MarkWork<VM>>::new());
        buckets[WorkBucketStage::Prepare].add(Prepare::<MarkWork<VM>>::new(self));
    }

    /// Roots were read in the initial pause: what they refer to now was reachable then, or is new.
    fn schedule_final_mark(&'static self, scheduler: &GCWorkScheduler<VM>) {
        let buckets = &scheduler.work_buckets;
        let stop = StopMutators::<MarkWork<VM>>::new_no_scan_roots();
        buckets[WorkBucketStage::Unconstrained].add(stop);
        let weak = Box::new(VMProcessWeakRefs::<Trace<VM>>::new());
        buckets[WorkBucketStage::VMRefClosure].set_sentinel(weak);
        buckets[WorkBucketStage::Release].add(Release::<MarkWork<VM>>::new(self));
        #[cfg(feature = "sanity")]
        buckets[WorkBucketStage::Final]
            .add(crate::util::sanity::sanity_checker::ScheduleSanityGC::<Self>::new(self));
    }

    fn for_each_allocator(visit: impl Fn(&FreeListAllocator<VM>)) {
        for mutator in VM::VMActivePlan::mutators() {
            // SAFETY: under this plan, the default allocator is ours.
            visit(unsafe { mutator.allocator_impl_for_semantic(AllocationSemantics::Default) });
        }
    }

    fn begin_marking(&self) {
        Self::for_each_allocator(FreeListAllocator::mark_free_cells);
        self.pacing
            .begin(self.handed_out(), self.ms.free_cell_pages());
        self.set_marking(true);
        let stage = WorkBucketStage::Concurrent;
        let packets = &self.common.base.scheduler.work_buckets[stage];
        if packets.is_empty() {
            // Has a worker find that nothing is left to mark, and ask for the final mark.
            packets.add_no_notify(ProcessNodes::<Trace<VM>>::new(Vec::new(), stage));
            if self.do_workers_ask() {
                self.pause.store(Some(Pause::FinalMark), Ordering::SeqCst);
            }
        }
    }

    fn end_marking(&self) {
        self.ms.end_marking();
        Self::for_each_allocator(FreeListAllocator::unmark_free_cells);
        let was_late = self.was_late.load(Ordering::Relaxed);
        self.pacing.end(self.handed_out(), was_late);
        self.set_marking(false);
    }
}

impl<VM: VMBinding> Plan for ConcurrentMarkSweep<VM> {
    fn collection_required(&self, space_full: bool, space: Option<SpaceStats<Self::VM>>) -> bool {
        let stress = self.base().collection_required(self, space_full);
        if space_full || self.base().gc_trigger.is_heap_full() {
            self.note_full_heap();
            return true;
        }
        let due = if self.is_marking() {
            // A thread that allocates names its space.
            self.is_final_mark_due(space.is_none())
        } else {
            self.pacing.is_due(self.free(), self.get_total_pages())
        };
        stress || due
    }

    fn schedule_collection(&'static self, scheduler: &GCWorkScheduler<VM>) {
        let pause = self.next_pause();
        self.pause.store(Some(pause), Ordering::SeqCst);
        match pause {
            Pause::Full => scheduler.schedule_common_work::<FullWork<VM>>(self),
            Pause::InitialMark => self.schedule_initial_mark(scheduler),
            Pause::FinalMark => self.schedule_final_mark(scheduler),
        }
    }

    fn notify_mutators_paused(&self, mmtk: &'static MMTK<VM>) {
        *self.initial_mark_ends.lock().unwrap() = Instant::now() + INITIAL_MARK;
        if self.current() == Pause::FinalMark {
            self.end_marking();
        } else {
            mmtk.gc_trigger.policy.on_gc_start(mmtk);
        }
    }

    fn get_allocator_mapping(&self) -> &'static EnumMap<AllocationSemantics, AllocatorSelector> {
        &ALLOCATOR_MAPPING
    }

    fn prepare(&mut self, tls: VMWorkerThread) {
        self.common.prepare(tls, true);
        self.ms.prepare(true);
    }

    fn release(&mut self, tls: VMWorkerThread) {
        self.ms.release();
        self.common.release(tls, true);
    }

    fn end_of_pause(&mut self, mmtk: &'static MMTK<VM>, tls: VMWorkerThread) {
        let pause = self.current();
        self.pause.store(None, Ordering::SeqCst);
        let full = pause == Pause::Full;
        if pause == Pause::InitialMark {
            self.begin_marking();
        } else {
            self.ms.end_of_gc();
            self.common.end_of_pause(tls);
            mmtk.gc_trigger.policy.on_gc_end(mmtk);
            self.note_yield(full);
        }
        // Concurrent marking keeps what they allocate meanwhile.
        self.ms.note_end(full);
    }

    fn last_collection_was_exhaustive(&self) -> bool {
        self.ms.was_exhaustive()
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
        &CONCURRENT_MARK_SWEEP_CONSTRAINTS
    }

    fn concurrent(&self) -> Option<&dyn ConcurrentPlan<VM = VM>> {
        Some(self)
    }
}

impl<VM: VMBinding> ConcurrentPlan for ConcurrentMarkSweep<VM> {
    fn concurrent_work_in_progress(&self) -> bool {
        self.is_marking()
    }

    fn current_pause(&self) -> Option<Pause> {
        self.pause.load(Ordering::SeqCst)
    }
}

pub(crate) fn create_concurrent_mark_sweep_mutator<VM: VMBinding>(
    tls: VMMutatorThread,
    mmtk: &'static MMTK<VM>,
) -> Mutator<VM> {
    let plan = mmtk.get_plan();
    let concurrent: &'static ConcurrentMarkSweep<VM> =
        plan.downcast_ref().expect("this plan is in use");
    let mut spaces = create_space_mapping(RESERVED_ALLOCATORS, true, plan);
    spaces.push((AllocatorSelector::FreeList(0), &concurrent.ms));
    let config = MutatorConfig {
        allocator_mapping: &ALLOCATOR_MAPPING,
        space_mapping: Box::new(spaces),
        prepare_func: &ms_mutator_prepare,
        release_func: &ms_mutator_release,
    };
    let barrier = Box::new(SATBBarrier::new(Semantics::<VM>::new(mmtk, tls)));
    MutatorBuilder::new(tls, mmtk, config)
        .barrier(barrier)
        .build()
}
