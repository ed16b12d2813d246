// SPDX-License-Identifier: MIT OR Apache-2.0
//! The work packets of a collection, each for one chunk.

use super::space::MarkSweepSpace;
use crate::scheduler::{GCWork, GCWorker};
use crate::vm::VMBinding;
use crate::MMTK;
use shardsweep_policy::{Chunk, PageRange, PAGE_BYTES};

/// Clears the mark bits, before marking.
pub struct ClearMarks<VM: VMBinding> {
    pub space: &'static MarkSweepSpace<VM>,
    pub chunk: Chunk,
}

impl<VM: VMBinding> GCWork<VM> for ClearMarks<VM> {
    fn do_work(&mut self, _worker: &mut GCWorker<VM>, _mmtk: &'static MMTK<VM>) {
        self.space.clear_marks(self.chunk);
    }
}

/// Finds out what is live, after marking.
pub struct ReleaseChunk<VM: VMBinding> {
    pub space: &'static MarkSweepSpace<VM>,
    pub chunk: Chunk,
}

impl<VM: VMBinding> GCWork<VM> for ReleaseChunk<VM> {
    fn do_work(&mut self, _worker: &mut GCWorker<VM>, _mmtk: &'static MMTK<VM>) {
        let found = self.space.heap().release_chunk(self.chunk);
        self.space.chunk_released(found);
    }
}

/// Returns pages of blocks with live objects to the OS, after all chunks have been released.
pub struct PurgeChunk<VM: VMBinding> {
    pub space: &'static MarkSweepSpace<VM>,
    pub chunk: Chunk,
    /// Such pages of all chunks that are resident without being charged.
    pub dirty_pages: usize,
    /// How many of them may remain so.
    pub keep: usize,
}

impl<VM: VMBinding> GCWork<VM> for PurgeChunk<VM> {
    fn do_work(&mut self, _worker: &mut GCWorker<VM>, _mmtk: &'static MMTK<VM>) {
        let heap = self.space.heap();
        heap.purge_chunk(self.chunk, self.dirty_pages, self.keep, return_to_os);
    }
}

/// Gives pages back to the OS, which zeroes them when they are touched again.
pub fn return_to_os(ranges: &[PageRange]) {
    ranges.iter().for_each(return_range);
}

fn return_range(range: &PageRange) {
    let start = std::ptr::with_exposed_provenance_mut(range.start);
    // SAFETY: the pages are mapped, and no live or free cell lies on them.
    let status = unsafe { libc::madvise(start, range.pages * PAGE_BYTES, libc::MADV_DONTNEED) };
    if status != 0 {
        // Nothing is lost but memory. The system refuses if the pages are locked in memory, for one.
        warn!(
            "{} pages at {:#x} stay resident: {}",
            range.pages,
            range.start,
            std::io::Error::last_os_error()
        );
    }
}
