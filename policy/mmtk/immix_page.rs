// SPDX-License-Identifier: MIT OR Apache-2.0
//! Immix that charges pages, behind the feature `immix_page`: the second conjecture of the report's section 7.2.1.
//!
//! The crate's Immix charges a block of 32 KiB when an allocator takes it, and uncharges it when a collection finds all of
//! its lines dead. Here a block is taken without a charge.
//!
//! | when | what |
//! |---|---|
//! | a limit moves on in a clean block, or a hole | the pages that it passes are charged; a collection runs if they do not fit |
//! | a collection has swept | pages without a live line are uncharged |
//!
//! A block has one allocator until the next collection, and a hole begins and ends at a live line or at the end of its
//! block. So a page is charged already if it lies partly in a hole, and not if it wholly does. Pages are zeroed when they
//! are charged, not before. What a page holds stays resident when it is uncharged, as the crate's free blocks do.

use super::block::Block;
use super::line::Line;
use super::ImmixSpace;
use crate::policy::space::{PlanCreateSpaceArgs, Space};
use crate::util::alloc::{AllocationOptions, BumpPointer};
use crate::util::constants::BYTES_IN_PAGE;
use crate::util::linear_scan::Region;
use crate::util::{Address, VMThread};
use crate::vm::{ActivePlan, VMBinding};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A thread charges the rest of a block at once while its share of what is free is this many blocks: what is charged and
/// not used when the heap is full is a small part of it.
const FREE_BLOCKS: usize = 16;

/// What the space knows of its charges. Their number is in its page resource.
#[derive(Default)]
pub(super) struct Charges {
    /// Pages with a live line that the sweep of this collection has come upon.
    live: AtomicUsize,
    /// The pages that are charged, for checks.
    #[cfg(debug_assertions)]
    pages: std::sync::Mutex<std::collections::HashSet<Address>>,
}

/// Arguments of a space that leaves new blocks as they are.
pub(super) fn without_zeroing<VM: VMBinding>(
    args: PlanCreateSpaceArgs<VM>,
) -> PlanCreateSpaceArgs<VM> {
    PlanCreateSpaceArgs {
        zeroed: false,
        ..args
    }
}

/// The pages that lie wholly in a range.
fn whole_pages(start: Address, end: Address) -> impl ExactSizeIterator<Item = Address> {
    let (first, end) = (start.align_up(BYTES_IN_PAGE), end.align_down(BYTES_IN_PAGE));
    let count = end.as_usize().saturating_sub(first.as_usize()) / BYTES_IN_PAGE;
    (0..count).map(move |page| first + page * BYTES_IN_PAGE)
}

impl<VM: VMBinding> ImmixSpace<VM> {
    /// Takes the memory of a block, of which nothing is charged. Zero if there are no addresses for it: then a collection was
    /// run, if `options` allow.
    pub(super) fn acquire_uncharged(&self, tls: VMThread, options: AllocationOptions) -> Address {
        let resource = self.get_page_resource();
        let block = self.get_new_pages_and_initialize(tls, Block::PAGES, resource, Block::PAGES);
        block.unwrap_or_else(|| {
            self.not_acquiring(tls, options, resource, 0, true);
            Address::ZERO
        })
    }

    /// Moves the limit of `bump`, whose memory ends at `end`, at least to `cursor`, and charges and zeroes what it passes.
    /// False, and nothing is done, if `cursor` is beyond that end, or if that takes a collection, which then has been run if
    /// `options` allow, and the allocator is reset. `copy` says that a collection moves objects there.
    pub fn extend(
        &self,
        tls: VMThread,
        copy: bool,
        options: AllocationOptions,
        bump: &mut BumpPointer,
        end: Address,
        cursor: Address,
    ) -> bool {
        let limit = bump.limit;
        // A stress test puts a limit below the cursor.
        if cursor > end || limit < bump.cursor {
            return false;
        }
        let least = cursor.align_up(BYTES_IN_PAGE).min(end);
        let next = if self.has_plenty(tls) { end } else { least };
        if !self.charge(tls, copy, options, limit, next) {
            return false;
        }
        crate::util::memory::zero(limit, next - limit);
        if self.should_allocate_as_live() {
            let lines = Line::from_aligned_address(limit)..Line::from_aligned_address(next);
            Line::eager_mark_lines::<VM>(self.line_mark_state.load(Ordering::Acquire), lines);
        }
        bump.limit = next;
        true
    }

    /// Whether the heap is so far from full that a thread may charge more than it needs.
    fn has_plenty(&self, tls: VMThread) -> bool {
        let heap = self
            .get_gc_trigger()
            .policy
            .get_current_heap_size_in_pages();
        let free = heap.saturating_sub(self.get_page_resource().committed_pages());
        VM::VMActivePlan::is_mutator(tls)
            && free / VM::VMActivePlan::number_of_mutators().max(1) >= FREE_BLOCKS * Block::PAGES
    }

    /// Charges the pages that lie wholly in a range, as in [`ImmixSpace::extend`].
    fn charge(
        &self,
        tls: VMThread,
        copy: bool,
        options: AllocationOptions,
        start: Address,
        end: Address,
    ) -> bool {
        let pages = whole_pages(start, end).len();
        if pages == 0 {
            return true;
        }
        let resource = self.get_page_resource();
        resource.reserve_pages(pages);
        let full =
            VM::VMActivePlan::is_mutator(tls) && self.get_gc_trigger().poll(false, Some(self));
        if full && !options.allow_overcommit {
            self.not_acquiring(tls, options, resource, pages, false);
            return false;
        }
        resource.common().accounting.commit(pages);
        self.defrag.notify_new_clean_block(copy, pages);
        #[cfg(debug_assertions)]
        for page in whole_pages(start, end) {
            let is_new = self.charges.pages.lock().unwrap().insert(page);
            assert!(is_new, "{page} is charged twice");
        }
        true
    }

    /// Counts the pages of a block that has been swept which have a live line.
    pub(super) fn count_live_pages(&self, block: Block) {
        let state = self.line_mark_state.load(Ordering::Acquire);
        let live = |page: &Address| {
            (0..BYTES_IN_PAGE)
                .step_by(Line::BYTES)
                .any(|line| Line::from_aligned_address(*page + line).is_marked(state))
        };
        let count = whole_pages(block.start(), block.end()).filter(live).count();
        self.charges.live.fetch_add(count, Ordering::Relaxed);
        #[cfg(debug_assertions)]
        for page in whole_pages(block.start(), block.end()) {
            let mut charged = self.charges.pages.lock().unwrap();
            if !live(&page) {
                charged.remove(&page);
            } else if !charged.contains(&page) {
                panic!("{page} has a live line and is not charged");
            }
        }
    }

    /// Uncharges all but the pages that were counted. All blocks have been swept.
    pub(super) fn uncharge_dead_pages(&self) {
        let accounting = &self.get_page_resource().common().accounting;
        let live = self.charges.live.swap(0, Ordering::Relaxed);
        accounting.release(accounting.get_committed_pages() - live);
        #[cfg(debug_assertions)]
        assert_eq!(
            self.charges.pages.lock().unwrap().len(),
            live,
            "pages with a live line are charged, and no others"
        );
    }
}
