// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where chunks come from, and the count of charged pages.

use crate::util::conversions::{bytes_to_pages_up, pages_to_bytes};
use crate::util::heap::layout::vm_layout::{BYTES_IN_CHUNK, PAGES_IN_CHUNK};
use crate::util::heap::layout::VMMap;
use crate::util::heap::pageresource::{CommonPageResource, PRAllocFail, PRAllocResult};
use crate::util::heap::space_descriptor::SpaceDescriptor;
use crate::util::heap::PageResource;
use crate::util::{Address, VMThread};
use crate::vm::VMBinding;
use std::ops::Range;
use std::sync::Mutex;

/// Adjacent chunks that were taken together, and go back together.
#[derive(Clone, Copy)]
struct Region {
    start: Address,
    chunks: usize,
}

/// Gives out address space by the chunk. Its accounting, unlike that of other page resources, does not
/// follow what it gives out: it is that of the pages that the space charges.
pub struct ChunkPageResource {
    common: CommonPageResource,
    /// What is left of a range of the space's own; empty if it shares one with other spaces.
    own: Mutex<Range<Address>>,
    /// What was taken of a range that spaces share.
    regions: Mutex<Vec<Region>>,
}

impl ChunkPageResource {
    /// Chunks of `own`, the space's own range of whole chunks, or of the range that spaces share.
    pub fn new(own: Option<Range<Address>>, vm_map: &'static dyn VMMap) -> Self {
        ChunkPageResource {
            common: CommonPageResource::new(own.is_some(), true, vm_map),
            own: Mutex::new(own.unwrap_or(Address::ZERO..Address::ZERO)),
            regions: Mutex::default(),
        }
    }

    fn take_chunks(&self, descriptor: SpaceDescriptor, chunks: usize) -> Option<Address> {
        if !self.common.contiguous {
            let start = self
                .common
                .grow_discontiguous_space(descriptor, chunks, None);
            if start.is_zero() {
                return None;
            }
            self.regions.lock().unwrap().push(Region { start, chunks });
            return Some(start);
        }
        let mut own = self.own.lock().unwrap();
        let start = own.start;
        (own.end - start >= chunks * BYTES_IN_CHUNK).then(|| {
            own.start += chunks * BYTES_IN_CHUNK;
            start
        })
    }

    /// Gives back to the range that spaces share what was taken together and of which `is_free` says so, for the
    /// first address and the number of chunks.
    pub fn give_back(&self, mut is_free: impl FnMut(Address, usize) -> bool) {
        self.regions.lock().unwrap().retain(|region| {
            let is_free = is_free(region.start, region.chunks);
            if is_free {
                self.common.release_discontiguous_chunks(region.start);
            }
            !is_free
        });
    }

    /// Counts `pages` that were reserved as charged.
    pub fn charge_reserved(&self, pages: usize) {
        self.common.accounting.commit(pages);
    }

    /// Counts `pages` as not charged any more.
    pub fn uncharge(&self, pages: usize) {
        self.common.accounting.release(pages);
    }

    /// Number of charged pages.
    pub fn charged_pages(&self) -> usize {
        self.common.accounting.get_committed_pages()
    }
}

impl<VM: VMBinding> PageResource<VM> for ChunkPageResource {
    /// Takes adjacent chunks. Charges nothing.
    fn alloc_pages(
        &self,
        descriptor: SpaceDescriptor,
        _reserved_pages: usize,
        required_pages: usize,
        _tls: VMThread,
    ) -> Result<PRAllocResult, PRAllocFail> {
        debug_assert_eq!(required_pages % PAGES_IN_CHUNK, 0);
        let chunks = required_pages / PAGES_IN_CHUNK;
        let start = self.take_chunks(descriptor, chunks).ok_or(PRAllocFail)?;
        Ok(PRAllocResult {
            start,
            pages: required_pages,
            new_chunk: true,
        })
    }

    fn get_available_physical_pages(&self) -> usize {
        if self.common.contiguous {
            let own = self.own.lock().unwrap();
            bytes_to_pages_up(own.end - own.start)
        } else {
            let chunks = self.common.vm_map.get_available_discontiguous_chunks();
            bytes_to_pages_up(chunks * pages_to_bytes(PAGES_IN_CHUNK))
        }
    }

    fn common(&self) -> &CommonPageResource {
        &self.common
    }

    fn common_mut(&mut self) -> &mut CommonPageResource {
        &mut self.common
    }
}
