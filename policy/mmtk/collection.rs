// SPDX-License-Identifier: MIT OR Apache-2.0
//! The space in a collection: clearing marks, releasing chunks, returning memory, and the checks of debug builds.

use super::purger::return_to_os;
use super::space::{MarkSweepSpace, SecondBits};
use super::work::{ClearMarks, ReleaseChunks};
use super::{address, FreeListAllocator};
use crate::plan::AllocationSemantics;
use crate::scheduler::{GCWork, WorkBucketStage};
use crate::util::Address;
use crate::vm::{ActivePlan, VMBinding};
use crate::Mutator;
use shardsweep_policy::{Chunk, Released, Scope, Thread, PAGE_BYTES};
use std::iter;
use std::ops::Range;
use std::time::Instant;

/// What may be resident without being charged, at the end of a collection: this, or if it is more ...
const KEEP_PAGES: usize = (1 << 20) / PAGE_BYTES;
/// ... one part in so many of the heap.
const KEEP_FRACTION: usize = 20;

/// What a work packet does takes some microseconds a chunk: as long as it takes to wake another worker
/// for the next packet.
const CHUNKS_PER_PACKET: usize = 16;

/// What the plan does in a collection.
impl<VM: VMBinding> MarkSweepSpace<VM> {
    /// Schedules the clearing of mark bits, unless a partial collection keeps them.
    pub(crate) fn prepare(&mut self, full_heap: bool) {
        self.purger.stop();
        self.verify();
        if !full_heap {
            self.scope = Scope::Young;
            return;
        }
        self.scope = Scope::Full;
        let space = self.for_packets();
        self.schedule(WorkBucketStage::Prepare, |chunks| ClearMarks {
            space,
            chunks,
        });
    }

    /// Ends the marking that ran beside mutators: until now, pages were returned to the OS as well.
    pub(crate) fn end_marking(&self) {
        self.purger.stop();
    }

    /// Schedules the release of all chunks. Mutators release theirs by packets of their own.
    pub(crate) fn release(&mut self) {
        self.verify_marks();
        self.release_began = Instant::now();
        self.heap().begin_release(self.scope);
        let live_bytes = match self.scope {
            Scope::Full => 0,
            Scope::Young => self.last_release().live_bytes,
        };
        *self.released.lock().unwrap() = Released {
            live_bytes,
            ..Released::default()
        };
        let space = self.for_packets();
        self.schedule(WorkBucketStage::Release, |chunks| ReleaseChunks {
            space,
            chunks,
        });
    }

    /// Called when all work of the collection is done.
    pub(crate) fn end_of_gc(&mut self) {
        self.verify();
        self.give_back_chunks();
        let took = self.release_began.elapsed().as_secs_f64() * 1e3;
        let uncharged = self.last_release().uncharged_pages;
        info!("release {took:.3}ms, {uncharged} pages uncharged");
    }

    /// Has the purger return to the OS what is too much, once it is woken.
    pub(super) fn prepare_purge(&self) {
        let excess = self.excess_pages();
        info!("{excess} pages to be returned to the OS");
        if excess != 0 {
            let space = self.for_packets();
            let mut batches = space.heap().purge(return_to_os);
            space.purger.assign(
                iter::from_fn(move || (space.excess_pages() != 0).then(|| batches.next())?),
                || space.is_within_heap(),
            );
        }
    }

    /// Starts to return to the OS what the last collection has freed.
    pub(super) fn wake_purger(&self) {
        self.purger.wake();
    }

    /// Returns to the OS now what the last collection has freed.
    pub(super) fn purge(&self) {
        self.purger.finish();
    }

    /// Number of pages that are to be returned to the OS.
    fn excess_pages(&self) -> usize {
        self.heap().dirty_pages().saturating_sub(self.keep_pages())
    }

    /// Whether what the space holds, charged or not, is no more than the heap's size and what may stay. Then
    /// mutators come before the purger: what they use again before its turn has come costs them no page fault.
    fn is_within_heap(&self) -> bool {
        let held = self.charged_pages() + self.heap().dirty_pages();
        held <= self.heap_pages() + self.keep_pages()
    }

    /// Number of pages that may stay resident without being charged.
    fn keep_pages(&self) -> usize {
        KEEP_PAGES.max(self.heap_pages() / KEEP_FRACTION)
    }

    /// The heap's size now, in pages.
    pub(super) fn heap_pages(&self) -> usize {
        let policy = &self.common.gc_trigger.policy;
        policy.get_current_heap_size_in_pages()
    }

    /// Releases some chunks.
    pub(super) fn release_chunks(&self, chunks: &[Chunk]) {
        let found = self.heap().release_chunks(chunks, self.scope);
        self.uncharge(found.uncharged_pages);
        let mut released = self.released.lock().unwrap();
        *released += found;
        if self.scope == Scope::Young {
            released.live_bytes -= found.former_live_bytes;
        }
    }

    /// Clears the mark bits of a chunk, and the bits of old objects.
    pub(super) fn clear_marks(&self, chunk: Chunk) {
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

    pub(super) fn chunk_address(&self, chunk: Chunk) -> Address {
        address(self.heap().chunk_start(chunk))
    }

    /// The space for as long as work packets live.
    fn for_packets(&self) -> &'static Self {
        // SAFETY: spaces live as long as the process once their plan is made.
        unsafe { &*std::ptr::from_ref(self) }
    }

    /// Adds packets for some chunks each to a bucket, for the lowest chunks last: of what packets put into the
    /// pools, threads then get the lowest blocks first.
    fn schedule<W: GCWork<VM>>(&self, stage: WorkBucketStage, packet: impl Fn(Vec<Chunk>) -> W) {
        let chunks: Vec<Chunk> = self.heap().chunks().rev().collect();
        let packets = chunks
            .chunks(CHUNKS_PER_PACKET)
            .map(|some| Box::new(packet(some.to_vec())) as _);
        self.scheduler.work_buckets[stage].bulk_add(packets.collect());
    }
}

/// The checks of debug builds. All threads are stopped.
impl<VM: VMBinding> MarkSweepSpace<VM> {
    /// Checks lists and counts.
    fn verify(&self) {
        if cfg!(debug_assertions) {
            Self::expect(self.heap().verify(&Self::threads(), self.charged_pages()));
        }
    }

    /// Checks that no free cell is marked.
    fn verify_marks(&self) {
        if cfg!(debug_assertions) {
            Self::expect(self.heap().verify_marks(&Self::threads()));
        }
    }

    fn expect(verified: Result<(), String>) {
        if let Err(error) = verified {
            panic!("the mark-sweep space is broken: {error}");
        }
    }

    fn threads<'a>() -> Vec<Thread<'a>> {
        VM::VMActivePlan::mutators()
            .map(|mutator: &'a mut Mutator<VM>| {
                // SAFETY: under this plan, the default allocator is ours.
                let allocator: &FreeListAllocator<VM> =
                    unsafe { mutator.allocator_impl_for_semantic(AllocationSemantics::Default) };
                allocator.thread()
            })
            .collect()
    }
}
