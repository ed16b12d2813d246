// SPDX-License-Identifier: MIT OR Apache-2.0
//! The work packets of a collection, each for some chunks.

use super::shared::Shared;
use crate::scheduler::{GCWork, GCWorker};
use crate::vm::VMBinding;
use crate::MMTK;
use shardsweep_policy::Chunk;

/// Clears the mark bits, before marking.
pub struct ClearMarks<VM: VMBinding> {
    pub shared: &'static Shared<VM>,
    pub chunks: Vec<Chunk>,
}

impl<VM: VMBinding> GCWork<VM> for ClearMarks<VM> {
    fn do_work(&mut self, _worker: &mut GCWorker<VM>, _mmtk: &'static MMTK<VM>) {
        for &chunk in &self.chunks {
            self.shared.clear_marks(chunk);
        }
    }
}

/// Finds out what is live, after marking.
pub struct ReleaseChunks<VM: VMBinding> {
    pub shared: &'static Shared<VM>,
    pub chunks: Vec<Chunk>,
}

impl<VM: VMBinding> GCWork<VM> for ReleaseChunks<VM> {
    fn do_work(&mut self, _worker: &mut GCWorker<VM>, _mmtk: &'static MMTK<VM>) {
        self.shared.release_chunks(&self.chunks);
    }
}
