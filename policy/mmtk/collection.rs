// SPDX-License-Identifier: MIT OR Apache-2.0
//! The space in a collection: clearing marks, releasing chunks, returning memory, and the checks of debug builds.

use super::os::{return_reserved, return_to_os};
use super::purger::Assignment;
use super::space::{has_reserved_pages, MarkSweepSpace};
use super::work::{ClearMarks, ReleaseChunks};
use super::{address, FreeListAllocator};
use crate::plan::AllocationSemantics;
use crate::scheduler::{GCWork, WorkBucketStage};
use crate::util::Address;
use crate::vm::{ActivePlan, VMBinding};
use crate::Mutator;
use shardsweep_policy::{Chunk, Thread};
use std::time::Instant;

/// What a work packet does takes some microseconds a chunk: as long as it takes to wake another worker
/// for the next packet.
const CHUNKS_PER_PACKET: usize = 8;

/// What the plan does in a collection.
impl<VM: VMBinding> MarkSweepSpace<VM> {
    /// Schedules the clearing of mark bits, unless a partial collection keeps them.
    pub(crate) fn prepare(&mut self, full_heap: bool) {
        self.shared.purger.stop();
        self.verify();
        self.shared.set_full(full_heap);
        if !full_heap {
            return;
        }
        let shared = self.shared;
        self.schedule(WorkBucketStage::Prepare, |chunks| ClearMarks {
            shared,
            chunks,
        });
    }

    /// Whether objects become old in this collection, which is a full one. If not, so must be the next one.
    pub(crate) fn set_makes_old(&self, old: bool) {
        self.heap().set_makes_old(old);
    }

    /// Whether objects became old in the last one.
    pub(crate) fn makes_old(&self) -> bool {
        self.heap().makes_old()
    }

    /// Ends concurrent marking: until now, pages were returned to the OS as well.
    pub(crate) fn end_marking(&self) {
        self.shared.purger.pause();
    }

    /// Schedules the release of all chunks. Mutators release theirs by packets of their own.
    pub(crate) fn release(&mut self) {
        self.verify_marks();
        self.release_began = Instant::now();
        self.shared.begin_release();
        let shared = self.shared;
        self.schedule(WorkBucketStage::Release, |chunks| ReleaseChunks {
            shared,
            chunks,
        });
    }

    /// Called when all work of the collection is done.
    pub(crate) fn end_of_gc(&mut self) {
        self.verify();
        self.note_end(self.shared.is_full());
        let released = self.shared.last_release();
        self.note_live(released.live_bytes);
        if self.shared.take_lack_of_addresses() {
            // Only chunks without a dirty page go back.
            let release = if has_reserved_pages() {
                return_reserved
            } else {
                return_to_os
            };
            self.heap().purge(release).for_each(drop);
        }
        self.give_back_chunks();
        let took = self.release_began.elapsed().as_secs_f64() * 1e3;
        let uncharged = released.uncharged_pages;
        info!("release {took:.3}ms, {uncharged} pages uncharged");
    }

    /// Has the purger return to the OS what is too much, once it is woken.
    pub(super) fn prepare_purge(&self) {
        let excess = self.shared.excess_pages();
        info!("{excess} pages to be returned to the OS");
        if excess != 0 {
            let shared = self.shared;
            shared.purger.assign(Assignment {
                batches: Box::new(shared.heap().purge(return_to_os)),
                is_excess: Box::new(move || shared.excess_pages() != 0),
                mutators_first: Box::new(move || shared.is_within_heap()),
            });
        }
    }

    /// Has the purger stop soon, because a collection was asked for.
    pub(super) fn cancel_purge(&self) {
        self.shared.purger.cancel();
    }

    /// Starts to return to the OS what the last collection has freed.
    pub(super) fn wake_purger(&self) {
        self.shared.purger.wake();
    }

    /// Returns to the OS now what the last collection has freed, but for what may stay.
    pub(super) fn purge(&self) {
        self.shared.purger.finish();
    }

    pub(super) fn chunk_address(&self, chunk: Chunk) -> Address {
        address(self.heap().chunk_start(chunk))
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
