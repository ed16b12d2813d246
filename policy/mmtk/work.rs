// SPDX-License-Identifier: MIT OR Apache-2.0
//! The work packets of a collection, each for one chunk.

use super::space::MarkSweepSpace;
use crate::scheduler::{GCWork, GCWorker};
use crate::vm::VMBinding;
use crate::MMTK;
use shardsweep_policy::Chunk;

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
