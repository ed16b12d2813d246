// SPDX-License-Identifier: MIT OR Apache-2.0
//! What work packets and the purger use of the space while its plan holds it by an exclusive reference.

use super::pages::ChunkPageResource;
use super::purger::Purger;
use super::{address, Build};
use crate::plan::{BarrierSelector, PlanConstraints};
use crate::util::heap::gc_trigger::GCTrigger;
use crate::util::metadata::side_metadata::SideMetadataSpec;
use crate::util::metadata::MetadataSpec;
use crate::vm::{ObjectModel, VMBinding};
use shardsweep_policy::{Chunk, Heap, Released, Scope, PAGE_BYTES};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// What may be resident without being charged, at the end of a collection: this, or if it is more ...
const KEEP_PAGES: usize = (1 << 20) / PAGE_BYTES;
/// ... one part in so many of the heap.
const KEEP_FRACTION: usize = 20;

/// What the bits are for that mmtk has for a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondBits {
    /// The plan has none.
    Unused,
    /// One is set for each old object, and cleared when it is remembered.
    Old,
    /// The barrier does without: they are what sweeping reads while marking runs.
    Sweep,
}

impl SecondBits {
    /// Of a plan.
    pub fn of(constraints: &PlanConstraints) -> Self {
        match constraints.barrier {
            BarrierSelector::NoBarrier => SecondBits::Unused,
            BarrierSelector::ObjectBarrier => SecondBits::Old,
            BarrierSelector::SATBBarrier => SecondBits::Sweep,
        }
    }
}

/// The blocks, and what is counted of them. A plan calls its space with `&mut self`, at the beginning of a collection for one,
/// while other threads work on the heap: so all that these reach stands apart from the space.
pub struct Shared<VM: VMBinding> {
    /// Where chunks come from, and the count of charged pages.
    pub pages: ChunkPageResource,
    /// What the plan's second bits are for.
    pub second_bits: SecondBits,
    /// Returns memory to the OS.
    pub purger: Purger,
    gc_trigger: Arc<GCTrigger<VM>>,
    /// Made once the address of side metadata is known.
    heap: OnceLock<Heap<Build>>,
    /// Whether this collection, or the last one, looks at all objects.
    full: AtomicBool,
    /// Whether a thread has found no addresses for chunks since the last collection.
    lacks_addresses: AtomicBool,
    /// How many pages stay resident, used or not.
    resident: AtomicUsize,
    /// What the last collection found, or this one so far.
    released: Mutex<Released>,
}

impl<VM: VMBinding> Shared<VM> {
    /// Without blocks, until [`Shared::set_heap`].
    pub fn new(
        pages: ChunkPageResource,
        gc_trigger: Arc<GCTrigger<VM>>,
        second_bits: SecondBits,
    ) -> Self {
        Shared {
            pages,
            second_bits,
            purger: Purger::new(),
            gc_trigger,
            heap: OnceLock::new(),
            full: AtomicBool::new(true),
            lacks_addresses: AtomicBool::new(false),
            resident: AtomicUsize::new(0),
            released: Mutex::default(),
        }
    }

    /// Sets the blocks, once.
    pub fn set_heap(&self, heap: Heap<Build>) {
        let made = self.heap.set(heap);
        assert!(made.is_ok(), "metadata is initialized once");
    }

    /// The blocks.
    #[inline(always)]
    pub fn heap(&self) -> &Heap<Build> {
        self.heap
            .get()
            .expect("the space is used only after its metadata has been initialized")
    }

    /// Whether the space has the chunk that `start` lies in.
    #[inline(always)]
    pub fn has_chunk_at(&self, start: usize) -> bool {
        let heap = self.heap.get();
        heap.is_some_and(|heap| heap.chunk_at(start).is_some())
    }

    /// The mark bits, which the object model must have on the side, a bit for each 8 bytes.
    pub fn mark_spec() -> SideMetadataSpec {
        match *VM::VMObjectModel::LOCAL_MARK_BIT_SPEC {
            MetadataSpec::OnSide(spec) => spec,
            MetadataSpec::InHeader(_) => panic!("mark bits must be on the side"),
        }
    }

    /// The bits of old objects, which a barrier looks at.
    pub fn log_spec() -> SideMetadataSpec {
        *VM::VMObjectModel::GLOBAL_LOG_BIT_SPEC.extract_side_spec()
    }

    /// Sets whether this collection looks at all objects, or keeps the marks of the one before.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::Relaxed);
    }

    /// Whether this collection, or the last one, looks at all objects.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    fn scope(&self) -> Scope {
        if self.is_full() {
            Scope::Full
        } else {
            Scope::Young
        }
    }

    /// What the last collection found.
    pub fn last_release(&self) -> Released {
        *self.released.lock().unwrap()
    }

    /// Begins the release of all chunks.
    pub fn begin_release(&self) {
        let scope = self.scope();
        self.heap().begin_release(scope);
        let mut released = self.released.lock().unwrap();
        let live_bytes = match scope {
            Scope::Full => 0,
            Scope::Young => released.live_bytes,
        };
        *released = Released {
            live_bytes,
            ..Released::default()
        };
    }

    /// Number of pages that are to be returned to the OS.
    pub fn excess_pages(&self) -> usize {
        let resident = self.resident.load(Ordering::Relaxed);
        let stay = resident.saturating_sub(self.pages.charged_pages());
        let keep = self.keep_pages().max(stay);
        self.heap().dirty_pages().saturating_sub(keep)
    }

    /// Notes that a thread has found no addresses for chunks.
    pub fn note_lack_of_addresses(&self) {
        self.lacks_addresses.store(true, Ordering::Relaxed);
    }

    /// Whether a thread has found none since this was asked last.
    pub fn take_lack_of_addresses(&self) -> bool {
        self.lacks_addresses.swap(false, Ordering::Relaxed)
    }

    /// Has so many pages stay resident, used or not.
    pub fn keep_resident(&self, pages: usize) {
        self.resident.fetch_max(pages, Ordering::Relaxed);
    }

    /// Whether what the space holds, charged or not, is no more than the heap's size and what may stay. Then
    /// mutators come before the purger: what they use again before its turn has come costs them no page fault.
    pub fn is_within_heap(&self) -> bool {
        self.may_hold_more(0)
    }

    /// Whether the same is so if it holds so many pages more.
    pub fn may_hold_more(&self, pages: usize) -> bool {
        let held = self.pages.charged_pages() + self.heap().dirty_pages();
        held + pages <= self.heap_pages() + self.keep_pages()
    }

    /// Number of pages that may stay resident without being charged.
    fn keep_pages(&self) -> usize {
        Self::keep_pages_of(self.heap_pages())
    }

    /// The same of a heap of so many pages.
    pub fn keep_pages_of(heap_pages: usize) -> usize {
        KEEP_PAGES.max(heap_pages / KEEP_FRACTION)
    }

    /// The heap's size now, in pages.
    pub fn heap_pages(&self) -> usize {
        self.gc_trigger.policy.get_current_heap_size_in_pages()
    }

    /// Releases some chunks.
    pub fn release_chunks(&self, chunks: &[Chunk]) {
        let scope = self.scope();
        let found = self.heap().release_chunks(chunks, scope);
        self.pages.uncharge(found.uncharged_pages);
        let mut released = self.released.lock().unwrap();
        *released += found;
        if scope == Scope::Young {
            released.live_bytes -= found.former_live_bytes;
        }
    }

    /// Clears the mark bits of a chunk, and the bits of old objects.
    pub fn clear_marks(&self, chunk: Chunk) {
        let clear = |pages: Range<usize>| {
            if pages.is_empty() {
                return;
            }
            Self::mark_spec().bzero_metadata(address(pages.start), pages.len());
            if self.second_bits == SecondBits::Old {
                Self::log_spec().bzero_metadata(address(pages.start), pages.len());
            }
        };
        let mut pages = 0..0;
        for page in self.heap().forget_marked(chunk) {
            if page != pages.end {
                clear(std::mem::replace(&mut pages, page..page));
            }
            pages.end = page + PAGE_BYTES;
        }
        clear(pages);
    }
}
