// SPDX-License-Identifier: MIT OR Apache-2.0
//! The space: what the MarkSweep plan and the tracing of objects see of the heap.

use super::os::{
    collapse, forbid_huge_pages, make_huge_page, populate, take_reserved_huge_page, touch,
};
use super::pages::ChunkPageResource;
use super::shared::{SecondBits, Shared};
use super::{address, Build};
use crate::plan::tracing::{ObjectQueue, OptionObjectQueue};
use crate::policy::gc_work::{PolicyTraceObject, TraceKind};
use crate::policy::sft::{GCWorkerMutRef, SFT};
use crate::policy::sft_map::SFTMap;
use crate::policy::space::{CommonSpace, PlanCreateSpaceArgs, Space};
use crate::scheduler::{GCWorkScheduler, GCWorker};
use crate::util::alloc::AllocationOptions;
use crate::util::copy::CopySemantics;
use crate::util::heap::layout::vm_layout::{vm_layout, BYTES_IN_CHUNK, PAGES_IN_CHUNK};
use crate::util::heap::PageResource;
use crate::util::metadata::extract_side_metadata;
use crate::util::metadata::side_metadata::SideMetadataSpec;
use crate::util::object_enum::ObjectEnumerator;
use crate::util::os::{HugePageSupport, MmapAnnotation, OSMemory, OS};
use crate::util::{Address, ObjectReference, VMMutatorThread, VMThread};
use crate::vm::{ActivePlan, Collection, ObjectModel, VMBinding};
use shardsweep_policy::{Heap, MarkBits, PageRange, Sharing, HUGE_PAGE_BYTES, PAGE_BYTES};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

const PAGES_IN_HUGE_PAGE: usize = HUGE_PAGE_BYTES / PAGE_BYTES;

/// A thread charges at most one part in so many of its share of what is free, unless it needs more.
const SHARE_FRACTION: usize = 16;

/// Threads share blocks when free pages, and the pages that free cells make, are together fewer than this for each of them: about a page
/// for each size class in use ...
const SCARCE_FREE_PAGES: usize = 32;
/// ... or when the heap has fewer than this for each of them.
const SCARCE_HEAP_PAGES: usize = 96;

/// Huge pages that the VM was told to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HugePages {
    /// None.
    Never,
    /// Those that the administrator has reserved, as long as there are any. They stay resident.
    Reserved,
}

/// What the VM was told.
static HUGE_PAGES: OnceLock<HugePages> = OnceLock::new();

/// Says which huge pages the space has. Otherwise it asks the kernel for some if mmtk's option `transparent_hugepages` says
/// so, or if the heap may become so large that one is no more than what may stay resident without being charged. Called
/// before the heap is made, once.
pub fn set_huge_pages(huge_pages: HugePages) {
    HUGE_PAGES.set(huge_pages).expect("the VM makes one heap");
}

/// Whether those are among its pages that the administrator has reserved.
pub(crate) fn has_reserved_pages() -> bool {
    HUGE_PAGES.get() == Some(&HugePages::Reserved)
}

/// A space of blocks, charged as the build says.
pub struct MarkSweepSpace<VM: VMBinding> {
    pub(super) common: CommonSpace<VM>,
    pub(super) scheduler: Arc<GCWorkScheduler<VM>>,
    /// What threads use while a collection has the space for itself.
    pub(super) shared: &'static Shared<VM>,
    /// How often the heap has got more chunks.
    times_grown: AtomicUsize,
    /// Number of allocators.
    threads: AtomicUsize,
    /// When the release of this collection began.
    pub(super) release_began: Instant,
    /// Pages that were charged when the last pause ended.
    charged_after: AtomicUsize,
    /// How many pages the free cells on them made when the last one ended that released blocks.
    free_cells_after: AtomicUsize,
    /// Bytes in such cells that threads have been handed out since, as far as they have told.
    reused: AtomicUsize,
    /// Whether that one looked at all objects there were.
    was_exhaustive: AtomicBool,
}

impl<VM: VMBinding> MarkSweepSpace<VM> {
    /// The space, without memory. As everywhere in mmtk, side metadata cannot be used before
    /// [`Space::initialize_side_metadata`].
    pub(crate) fn new(args: PlanCreateSpaceArgs<VM>) -> Self {
        let scheduler = args.scheduler.clone();
        let vm_map = args.vm_map;
        let second_bits = SecondBits::of(args.constraints);
        let local_specs = extract_side_metadata(&[*VM::VMObjectModel::LOCAL_MARK_BIT_SPEC]);
        let common = CommonSpace::new(args.into_policy_args(false, false, local_specs));
        let own = common
            .contiguous
            .then(|| common.start..common.start + common.extent);
        let pages = ChunkPageResource::new(own, vm_map);
        let shared = Shared::new(pages, common.gc_trigger.clone(), second_bits);
        MarkSweepSpace {
            common,
            scheduler,
            // Spaces live as long as the process.
            shared: Box::leak(Box::new(shared)),
            times_grown: AtomicUsize::new(0),
            threads: AtomicUsize::new(0),
            release_began: Instant::now(),
            charged_after: AtomicUsize::new(0),
            free_cells_after: AtomicUsize::new(0),
            reused: AtomicUsize::new(0),
            was_exhaustive: AtomicBool::new(false),
        }
    }

    /// The plan asks which global side metadata it must provide: none.
    pub(crate) fn extend_global_side_metadata_specs(_specs: &mut [SideMetadataSpec]) {}

    /// The addresses that chunks may come from.
    fn range(&self) -> Range<usize> {
        if self.common.contiguous {
            self.common.start.as_usize()..(self.common.start + self.common.extent).as_usize()
        } else {
            vm_layout().heap_start.as_usize()..vm_layout().heap_end.as_usize()
        }
    }

    /// A table of one bit for each 8 bytes of the space.
    fn bits(spec: SideMetadataSpec, range: &Range<usize>) -> MarkBits {
        assert!(
            spec.log_num_of_bits == 0
                && spec.log_bytes_in_region == shardsweep_policy::LOG_GRANULE_BYTES as usize,
            "the mark-sweep space needs one bit for each 8 bytes"
        );
        let bitmap = spec.get_starting_address().as_usize() + (range.start >> 6);
        // SAFETY: side metadata is one table for all addresses, mapped for a chunk before it is added.
        unsafe { MarkBits::new(bitmap, range.start) }
    }

    /// How the place of a huge page gets one, if the space has any.
    fn huge_pages(&self) -> Option<fn(PageRange)> {
        if has_reserved_pages() {
            return Some(take_reserved_huge_page);
        }
        let most_pages = self.get_gc_trigger().policy.get_max_heap_size_in_pages();
        let is_large = PAGES_IN_HUGE_PAGE <= Shared::<VM>::keep_pages_of(most_pages);
        let is_asked_for = *self.common.options.transparent_hugepages;
        let is_any = is_asked_for || is_large && HUGE_PAGES.get() != Some(&HugePages::Never);
        is_any.then_some(make_huge_page)
    }

    /// The blocks.
    #[inline(always)]
    pub(super) fn heap(&self) -> &Heap<Build> {
        self.shared.heap()
    }

    /// Counts a new allocator.
    pub(super) fn add_thread(&self) {
        self.threads.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an allocator off.
    pub(super) fn remove_thread(&self) {
        self.threads.fetch_sub(1, Ordering::Relaxed);
    }

    /// Number of charged pages.
    pub(crate) fn charged_pages(&self) -> usize {
        self.shared.pages.charged_pages()
    }

    /// Number of pages that were charged when the last pause ended.
    pub(crate) fn charged_after(&self) -> usize {
        self.charged_after.load(Ordering::Relaxed)
    }

    /// How many pages the free cells make that are left on pages which the last collection has left charged. They are of any size.
    pub(crate) fn free_cell_pages(&self) -> usize {
        let after = self.free_cells_after.load(Ordering::Relaxed);
        after.saturating_sub(self.reused_pages())
    }

    /// How many pages those make that threads have been handed out of them, as far as they have told.
    pub(crate) fn reused_pages(&self) -> usize {
        self.reused.load(Ordering::Relaxed) / PAGE_BYTES
    }

    /// Notes how many bytes are live on the pages that a collection has left charged.
    pub(super) fn note_live(&self, bytes: usize) {
        let free_cells = self.charged_pages().saturating_sub(bytes / PAGE_BYTES);
        self.free_cells_after.store(free_cells, Ordering::Relaxed);
        self.reused.store(0, Ordering::Relaxed);
    }

    /// So many pages and what mmtk estimates for their metadata, as when they are charged.
    pub(crate) fn pages_with_metadata(&self, pages: usize) -> usize {
        pages + self.estimate_side_meta_pages(pages)
    }

    /// Whether the last collection looked at all objects there were.
    pub(crate) fn was_exhaustive(&self) -> bool {
        self.was_exhaustive.load(Ordering::Relaxed)
    }

    /// Notes what the pause that ends has left charged, and whether it has looked at all objects there were.
    pub(crate) fn note_end(&self, exhaustive: bool) {
        self.charged_after
            .store(self.charged_pages(), Ordering::Relaxed);
        self.was_exhaustive.store(exhaustive, Ordering::Relaxed);
    }

    /// How often the heap has got more chunks, for [`MarkSweepSpace::add_chunks`].
    pub(super) fn times_grown(&self) -> usize {
        self.times_grown.load(Ordering::Acquire)
    }
}

/// What allocators need.
impl<VM: VMBinding> MarkSweepSpace<VM> {
    /// Charges `least` pages, or up to `most` where the heap is far from full, unless that takes a collection, which
    /// then has been run if `options` allow, and what the caller knew of its lists is void. Returns how many were
    /// charged.
    pub(super) fn charge(
        &self,
        tls: VMThread,
        least: NonZeroUsize,
        most: NonZeroUsize,
        options: AllocationOptions,
    ) -> Option<NonZeroUsize> {
        let pages = least.max(self.share().min(most.get()).try_into().unwrap_or(least));
        let resource = self.get_page_resource();
        resource.reserve_pages(pages.get());
        let full =
            VM::VMActivePlan::is_mutator(tls) && self.get_gc_trigger().poll(false, Some(self));
        if full && !options.allow_overcommit {
            self.shared.purger.cancel();
            self.not_acquiring(tls, options, resource, pages.get(), false);
            return None;
        }
        self.shared.pages.charge_reserved(pages.get());
        if !self.shared.is_within_heap() {
            self.shared.purger.hurry();
        }
        Some(pages)
    }

    /// Notes that a thread has been handed out so many bytes in cells on pages that the last collection has left charged. A plan that
    /// marks concurrently is asked whether it is time: with such cells, no page may be charged for long.
    pub(super) fn note_reused(&self, tls: VMThread, bytes: usize) {
        self.reused.fetch_add(bytes, Ordering::Relaxed);
        if self.shared.second_bits == SecondBits::Sweep && VM::VMActivePlan::is_mutator(tls) {
            self.get_gc_trigger().poll(false, Some(self));
        }
    }

    /// Whether the collection that a thread has waited for, or the next, can have left room for `pages` more: false if it has looked at
    /// all objects, and left less. mmtk counts collections in vain, but begins anew where another thread gets a cell meanwhile. So a
    /// request that never fits would have one collection follow the other.
    pub(super) fn has_left(&self, pages: NonZeroUsize) -> bool {
        let trigger = self.get_gc_trigger();
        let most = trigger.policy.get_max_heap_size_in_pages();
        if self.pages_with_metadata(self.charged_after() + pages.get()) <= most {
            return true;
        }
        let was_exhaustive = self.was_exhaustive();
        if !was_exhaustive {
            self.force_full_collection();
        }
        !was_exhaustive
    }

    /// Has the next collection be a full one, where there are partial ones.
    fn force_full_collection(&self) {
        if let Some(plan) = self.get_gc_trigger().plan().generational() {
            plan.force_full_heap_collection();
        }
    }

    /// Number of pages that a thread may charge at once. As others do so too, what is charged and not used when the
    /// heap is full is a small part of it.
    fn share(&self) -> usize {
        self.free_pages() / self.thread_count().max(1) / SHARE_FRACTION
    }

    /// Whether threads share blocks now.
    pub(super) fn sharing(&self) -> Sharing {
        let threads = self.thread_count();
        if self.free_pages() + self.free_cell_pages() < SCARCE_FREE_PAGES * threads
            || self.shared.heap_pages() < SCARCE_HEAP_PAGES * threads
        {
            Sharing::Shared
        } else {
            Sharing::Exclusive
        }
    }

    /// Whether so many pages can be charged without a collection, as far as is known.
    pub(super) fn has_free(&self, pages: NonZeroUsize) -> bool {
        self.pages_with_metadata(self.charged_pages() + pages.get()) <= self.shared.heap_pages()
    }

    /// Number of pages that are not charged, nor of metadata of those that are.
    pub(crate) fn free_pages(&self) -> usize {
        let charged = self.pages_with_metadata(self.charged_pages());
        self.shared.heap_pages().saturating_sub(charged)
    }

    fn thread_count(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }

    /// Uncharges pages.
    pub(super) fn uncharge(&self, pages: usize) {
        self.shared.pages.uncharge(pages);
    }

    /// Adds adjacent chunks, unless some were added since `seen`. Returns false if there are no addresses for them.
    pub(super) fn add_chunks(&self, tls: VMThread, count: usize, seen: usize) -> bool {
        let _lock = self.common.acquire_lock.lock().unwrap();
        if self.times_grown() != seen {
            return true;
        }
        let resource = self.get_page_resource();
        let taken = resource.get_new_pages(self.common.descriptor, 0, count * PAGES_IN_CHUNK, tls);
        let Ok(chunks) = taken else {
            return false;
        };
        self.grow_space(chunks.start, count * BYTES_IN_CHUNK, true);
        for chunk in (0..count).map(|index| chunks.start + index * BYTES_IN_CHUNK) {
            self.map_chunk(chunk, tls);
            // SAFETY: the chunk has just been mapped, and the page resource gives it to this space alone. Marks of an
            // earlier use were cleared with its last live object.
            unsafe { self.heap().add_chunk(chunk.as_usize()) };
        }
        self.times_grown.store(seen + 1, Ordering::Release);
        true
    }

    /// Runs a collection that gives back all addresses without a live object, if `options` allow one. Where marking runs beside
    /// mutators that is the next one after it.
    pub(super) fn collect_for_addresses(&self, tls: VMThread, options: AllocationOptions) {
        self.shared.note_lack_of_addresses();
        self.force_full_collection();
        self.not_acquiring(tls, options, self.get_page_resource(), 0, true);
    }

    /// Makes so many pages resident before any is used. They stay resident.
    pub(super) fn pre_touch(&self, pages: usize) {
        let chunks = pages.div_ceil(PAGES_IN_CHUNK);
        if self.add_chunks(VMThread::UNINITIALIZED, chunks, self.times_grown()) {
            let huge_pages = self.huge_pages();
            self.heap().pre_touch(pages, |run| {
                // A run begins with a chunk, so that these are aligned. What is left behind them has small pages.
                let places = (0..run.pages / PAGES_IN_HUGE_PAGE).map(|place| PageRange {
                    start: run.start + place * HUGE_PAGE_BYTES,
                    pages: PAGES_IN_HUGE_PAGE,
                });
                if let Some(back) = huge_pages {
                    places.for_each(back);
                }
                touch(run);
            });
            self.shared.keep_resident(pages);
        }
    }

    /// Gives chunks without a page that is charged or resident back to the range that spaces share.
    pub(super) fn give_back_chunks(&self) {
        let heap = self.heap();
        let starts = |start: Address, chunks: usize| {
            (0..chunks).map(move |index| (start + index * BYTES_IN_CHUNK).as_usize())
        };
        let remove = |start| {
            heap.chunk_at(start)
                .is_some_and(|chunk| heap.remove_chunk(chunk))
        };
        self.shared.pages.give_back(|start, chunks| {
            let removed = starts(start, chunks)
                .take_while(|&start| remove(start))
                .count();
            if removed < chunks {
                // SAFETY: the heap had these chunks a moment ago, and nobody else has got them since.
                starts(start, removed).for_each(|start| unsafe { heap.add_chunk(start) });
            }
            removed == chunks
        });
    }

    /// The object that `address` lies in, if that is in this space.
    pub(crate) fn object_at(&self, address: Address) -> Option<ObjectReference> {
        // SAFETY: callers hold a reference to the object, which keeps it.
        let start = self
            .address_in_space(address)
            .then(|| unsafe { self.heap().object_at(address.as_usize()) })?;
        // SAFETY: that is an address in the heap.
        ObjectReference::from_raw_address(unsafe { Address::from_usize(start) })
    }

    fn map_chunk(&self, start: Address, tls: VMThread) {
        let common = &self.common;
        let name = common.name;
        let mapped = common
            .mmapper
            .ensure_mapped(
                start,
                PAGES_IN_CHUNK,
                HugePageSupport::No,
                common.mmap_protection(),
                &MmapAnnotation::Space { name },
            )
            .and_then(|()| {
                common
                    .metadata
                    .try_map_metadata_space(start, BYTES_IN_CHUNK, name)
            });
        if let Err(error) = mapped {
            OS::handle_mmap_error::<VM>(error, tls);
        }
        forbid_huge_pages(PageRange {
            start: start.as_usize(),
            pages: PAGES_IN_CHUNK,
        });
    }

    /// Runs a collection if it is time for one, as a stress test has it.
    pub(super) fn poll(&self, tls: VMThread, options: AllocationOptions) {
        if self.get_gc_trigger().poll(false, Some(self)) && options.at_safepoint {
            VM::VMCollection::block_for_gc(VMMutatorThread(tls));
        }
    }
}

impl<VM: VMBinding> MarkSweepSpace<VM> {
    #[inline(always)]
    pub(crate) fn trace<Q: ObjectQueue>(
        &self,
        queue: &mut Q,
        object: ObjectReference,
    ) -> ObjectReference {
        debug_assert!(
            self.address_in_space(object.to_raw_address()),
            "{object} is not in {}",
            self.common.name
        );
        // What a thread does with an object it has marked is passed on by work packets: marking itself has to order
        // nothing. In concurrent marking, an object that is found unmarked was there before they were stopped the last time:
        // later ones were marked before a reference to them was stored, and x86 does not reorder stores.
        // SAFETY: objects of the space are in its chunks.
        if unsafe { self.heap().mark(object.to_raw_address().as_usize()) } {
            queue.enqueue(object);
        }
        object
    }
}

impl<VM: VMBinding> PolicyTraceObject<VM> for MarkSweepSpace<VM> {
    #[inline(always)]
    fn trace_object<Q: ObjectQueue, const KIND: TraceKind>(
        &self,
        queue: &mut Q,
        object: ObjectReference,
        _copy: Option<CopySemantics>,
        _worker: &mut GCWorker<VM>,
    ) -> ObjectReference {
        self.trace(queue, object)
    }

    fn may_move_objects<const KIND: TraceKind>() -> bool {
        false
    }
}

impl<VM: VMBinding> SFT for MarkSweepSpace<VM> {
    fn name(&self) -> &'static str {
        self.common.name
    }

    fn is_live(&self, object: ObjectReference) -> bool {
        VM::VMObjectModel::LOCAL_MARK_BIT_SPEC.is_marked::<VM>(object, Ordering::Relaxed)
    }

    #[cfg(feature = "object_pinning")]
    fn pin_object(&self, _object: ObjectReference) -> bool {
        false
    }

    #[cfg(feature = "object_pinning")]
    fn unpin_object(&self, _object: ObjectReference) -> bool {
        false
    }

    #[cfg(feature = "object_pinning")]
    fn is_object_pinned(&self, _object: ObjectReference) -> bool {
        true
    }

    fn is_movable(&self) -> bool {
        false
    }

    #[cfg(feature = "sanity")]
    fn is_sane(&self) -> bool {
        true
    }

    fn initialize_object_metadata(&self, _object: ObjectReference, _bytes: usize) {}

    fn sft_trace_object(
        &self,
        queue: &mut OptionObjectQueue,
        object: ObjectReference,
        _worker: GCWorkerMutRef,
    ) -> ObjectReference {
        self.trace(queue, object)
    }
}

impl<VM: VMBinding> Space<VM> for MarkSweepSpace<VM> {
    fn as_space(&self) -> &dyn Space<VM> {
        self
    }

    fn as_sft(&self) -> &(dyn SFT + Sync + 'static) {
        self
    }

    fn get_page_resource(&self) -> &dyn PageResource<VM> {
        &self.shared.pages
    }

    /// Asked for to tell it where the range begins that spaces share, which it need not know.
    fn maybe_get_page_resource_mut(&mut self) -> Option<&mut dyn PageResource<VM>> {
        None
    }

    fn initialize_sft(&self, sft_map: &mut dyn SFTMap) {
        self.common.initialize_sft(self.as_sft(), sft_map);
    }

    /// Asked for each reference that is traced. The VM allocates all objects by the plan's default allocator, so that no other space has any.
    #[inline(always)]
    fn in_space(&self, object: ObjectReference) -> bool {
        debug_assert!(self.address_in_space(object.to_raw_address()));
        true
    }

    fn address_in_space(&self, address: Address) -> bool {
        self.shared.has_chunk_at(address.as_usize())
    }

    fn initialize_side_metadata(&self) {
        let range = self.range();
        let marks = Self::bits(Shared::<VM>::mark_spec(), &range);
        let second = || Self::bits(Shared::<VM>::log_spec(), &range);
        let heap = Heap::new(range.clone(), marks);
        let heap = match self.shared.second_bits {
            SecondBits::Unused => heap,
            SecondBits::Old => heap.with_old_bits(second()),
            SecondBits::Sweep => heap.with_sweep_bits(second()),
        };
        let shared = self.shared;
        // Most of a place may be free: what is resident stays within the heap.
        let collapse = move |place: PageRange| shared.may_hold_more(place.pages) && collapse(place);
        let is_reserved = has_reserved_pages();
        self.shared.set_heap(match self.huge_pages() {
            Some(back) if is_reserved => heap.with_huge_pages(back),
            Some(back) => heap.with_huge_pages(back).with_collapse(collapse),
            None => heap.with_populate(populate),
        });
        if is_reserved {
            self.shared.keep_resident(usize::MAX);
        }
    }

    fn common(&self) -> &CommonSpace<VM> {
        &self.common
    }

    fn release_multiple_pages(&mut self, _start: Address) {
        unreachable!("pages of this space are uncharged when it is released");
    }

    fn set_allocate_as_live(&self, live: bool) {
        self.heap().set_allocates_marked(live);
    }

    fn enumerate_objects(&self, enumerator: &mut dyn ObjectEnumerator) {
        for block in self.heap().blocks().filter(|block| block.used_cells() != 0) {
            let start = address(block.start());
            enumerator.visit_address_range(start, start + block.pages() * PAGE_BYTES);
        }
    }

    fn clear_side_log_bits(&self) {
        let log_bit = VM::VMObjectModel::GLOBAL_LOG_BIT_SPEC.extract_side_spec();
        for chunk in self.heap().chunks() {
            log_bit.bzero_metadata(self.chunk_address(chunk), BYTES_IN_CHUNK);
        }
    }

    fn set_side_log_bits(&self) {
        let log_bit = VM::VMObjectModel::GLOBAL_LOG_BIT_SPEC.extract_side_spec();
        for chunk in self.heap().chunks() {
            log_bit.bset_metadata(self.chunk_address(chunk), BYTES_IN_CHUNK);
        }
    }
}
