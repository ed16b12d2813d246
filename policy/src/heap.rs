// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all threads share: the chunks of the heap, and the pools of blocks that no thread owns.

use crate::block::{Block, State};
use crate::collapse::Collapser;
use crate::config::{Config, LOG_PAGE_BYTES};
use crate::directory::{Chunk, Directory, Page};
use crate::marks::MarkBits;
use crate::pages::CHUNK_PAGES;
use crate::purge::PageRange;
use crate::runs::{Back, Searched};
use crate::size_class::Bin;
use crate::stack::{Link, Stack};
use crate::sync::Padded;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// A heap of blocks and large objects. Threads allocate from it through a [`Local`](crate::Local) each. The collector calls its methods
/// while all of them are stopped, but for those that say otherwise.
pub struct Heap<C: Config> {
    pub(crate) directory: Directory<C>,
    pub(crate) marks: MarkBits,
    /// Free pages that the OS may hold.
    pub(crate) dirty_pages: Padded<AtomicUsize>,
    /// Where a search for a run begins.
    pub(crate) searched: Padded<Searched>,
    /// By bin, the blocks that no thread owns and that may have free cells: those that collections have left so.
    pub(crate) pools: Box<[Stack]>,
    /// The same for those that threads have abandoned since the last collection.
    pub(crate) abandoned: Box<[Stack]>,
    /// By bin, blocks that threads share, without a free cell but with pages that are not open.
    pub(crate) growing: Box<[Stack]>,
    /// A bit for each object that has survived a collection, if the embedder has such.
    pub(crate) old: Option<MarkBits>,
    /// Whether it is set.
    makes_old: AtomicBool,
    /// What sweeping reads: the mark bits or, if marking may run while threads do, the bits of old objects.
    pub(crate) sweep: MarkBits,
    /// Whether cells are marked when they are handed out.
    allocates_marked: AtomicBool,
    /// If the heap has huge pages, what makes one.
    pub(crate) huge_pages: Option<Back>,
    /// What makes one again of a place that has small pages, if anything does.
    pub(crate) collapser: Option<Collapser>,
    /// What makes pages resident that a thread is about to use.
    pub(crate) populate: Option<Back>,
}

impl<C: Config> Heap<C> {
    /// A heap without memory in the address range `range`, whole chunks, to which chunks are added as
    /// they are needed. `marks` are the mark bits of the range. A wide range costs no more than a few
    /// bytes of address space for each page.
    ///
    /// # Panics
    /// If the range is empty, is not made of chunks, or has 16 TiB less a chunk or more.
    pub fn new(range: Range<usize>, marks: MarkBits) -> Heap<C> {
        let stacks = || (0..C::BINS).map(|_| Stack::default()).collect();
        Heap {
            directory: Directory::new(range),
            marks,
            dirty_pages: Padded::default(),
            searched: Padded::default(),
            pools: stacks(),
            abandoned: stacks(),
            growing: stacks(),
            old: None,
            makes_old: AtomicBool::new(true),
            sweep: marks,
            allocates_marked: AtomicBool::new(false),
            huge_pages: None,
            collapser: None,
            populate: None,
        }
    }

    /// The heap with bits for a write barrier that remembers old objects: laid out as the mark bits, and one of them set
    /// for an object from its first collection on. Those of free cells are clear.
    pub fn with_old_bits(self, old: MarkBits) -> Heap<C> {
        Heap {
            old: Some(old),
            ..self
        }
    }

    /// Whether collections, from the one that begins on, make what survives old. A full one need not where the next one is full,
    /// too: then the barrier has nothing to remember. Only with [`Heap::with_old_bits`].
    ///
    /// # Panics
    /// If sweeping reads the old bits, as with [`Heap::with_sweep_bits`]: they are made by each collection.
    pub fn set_makes_old(&self, old: bool) {
        assert!(self.sweep == self.marks, "sweeping reads the old bits");
        self.makes_old.store(old, Relaxed);
    }

    /// Whether they do.
    pub fn makes_old(&self) -> bool {
        self.makes_old.load(Relaxed)
    }

    /// The heap with second mark bits, so that marking can run while threads allocate: the release of a collection copies
    /// to them what it has found live, and sweeping reads them. They are laid out as the mark bits.
    ///
    /// Marking begins in a pause in which the embedder clears the mark bits, calls [`Local::mark_free_cells`] for each
    /// thread, and [`Heap::set_allocates_marked`]. From then on cells are marked when they are handed out: what is
    /// allocated survives. It ends in a pause with [`Local::unmark_free_cells`] before the release. Meanwhile the mark bits
    /// may be set by the embedder, by an atomic operation on a byte.
    pub fn with_sweep_bits(self, sweep: MarkBits) -> Heap<C> {
        Heap {
            old: Some(sweep),
            sweep,
            ..self
        }
    }

    /// The heap with huge pages. `back` is called with the place of one, aligned to its size, of which no page is in use. It
    /// may make all of the place resident, and must not call the heap. Elsewhere the OS must make no huge page of its own
    /// accord.
    pub fn with_huge_pages(self, back: impl Fn(PageRange) + Send + Sync + 'static) -> Heap<C> {
        Heap {
            huge_pages: Some(Box::new(back)),
            ..self
        }
    }

    /// The heap with a way to have a huge page again where pages are in use, after others of its place went back to the OS. `collapse` is
    /// called with the place. It keeps what is in it and returns true, and then all of the place is resident; or it returns
    /// false, and is not called again before the next collection. It must not claim pages. Only with [`Heap::with_huge_pages`].
    pub fn with_collapse(
        self,
        collapse: impl Fn(PageRange) -> bool + Send + Sync + 'static,
    ) -> Heap<C> {
        Heap {
            collapser: Some(Collapser::new(collapse)),
            ..self
        }
    }

    /// The heap with a way to make several pages resident by one call: `populate` is called with clean ones that a thread has opened
    /// at once and will soon use, as it has used those of longer and longer blocks of the bin. Not with huge pages.
    pub fn with_populate(self, populate: impl Fn(PageRange) + Send + Sync + 'static) -> Heap<C> {
        Heap {
            populate: Some(Box::new(populate)),
            ..self
        }
    }

    /// Whether cells are to be marked when they are handed out. Only with [`Heap::with_sweep_bits`], while all threads are
    /// stopped.
    pub fn set_allocates_marked(&self, marked: bool) {
        self.allocates_marked.store(marked, Relaxed);
    }

    pub(crate) fn allocates_marked(&self) -> bool {
        self.allocates_marked.load(Relaxed)
    }

    /// Marks cells of this heap.
    pub(crate) fn mark_cells(&self, cells: impl Iterator<Item = usize>) {
        self.marks.set(cells, |cell| {
            // SAFETY: the cells are in the heap's range.
            unsafe { self.note_marked(cell) }
        });
    }

    /// Adds the chunk at `start`; its pages are free and clean. Any thread may call this at any time.
    ///
    /// # Safety
    /// The chunk must be readable and writable memory with exposed provenance, used by this heap
    /// alone until [`Heap::remove_chunk`] takes it out. The mark bits of the chunk must be clear.
    ///
    /// # Panics
    /// If `start` is not a chunk of the heap's range, or the chunk is there already.
    pub unsafe fn add_chunk(&self, start: usize) {
        let chunk = self.directory.add(start);
        let pages = self.directory.page(chunk, 0)..self.directory.page(Chunk(chunk.0 + 1), 0);
        self.give(pages, false);
    }

    /// Has free pages made resident, the lowest, at most so many. They are dirty then. `touch` is called with pages that are
    /// nobody else's meanwhile, the first ones of a chunk; where there are huge pages, it is to make them.
    pub fn pre_touch(&self, most: usize, touch: impl Fn(PageRange)) {
        let mut left = most;
        for chunk in self.chunks() {
            let first = self.directory.page(chunk, 0);
            let run = first..first + left.min(CHUNK_PAGES);
            if !run.is_empty() && self.claim_exactly(run.clone()).is_some() {
                touch(self.range(&run));
                left -= run.len();
                self.give(run, true);
            }
        }
    }

    /// The chunks that the heap has, lowest address first.
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = Chunk> + '_ {
        self.directory.chunks()
    }

    /// The chunk that `start` lies in, if the heap has it.
    pub fn chunk_at(&self, start: usize) -> Option<Chunk> {
        self.directory.present_at(start)
    }

    /// Number of pages that are not charged but may be resident. Pages of a block that it has not opened are not
    /// counted.
    pub fn dirty_pages(&self) -> usize {
        self.dirty_pages.load(Relaxed)
    }

    /// Address of the first byte of `chunk`.
    pub fn chunk_start(&self, chunk: Chunk) -> usize {
        self.directory.start(chunk)
    }

    /// All blocks and large objects, lowest address first.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks_by_page().map(|(_, block)| block)
    }

    pub(crate) fn blocks_by_page(&self) -> impl Iterator<Item = (Page, &Block)> {
        self.chunks()
            .flat_map(|chunk| self.directory.blocks_in(chunk))
    }

    pub(crate) fn block(&self, link: Link) -> &Block {
        self.directory.block(link)
    }

    /// Address of the object that `address` lies in: of its cell, or of the large object.
    ///
    /// # Safety
    /// The object is in this heap and in use, and stays so meanwhile.
    pub unsafe fn object_at(&self, address: usize) -> usize {
        let page = (address - self.directory.address(0)) >> LOG_PAGE_BYTES;
        let block = self.directory.header(self.directory.start_of(page));
        match block.state() {
            State::Large => block.start(),
            _ => block.start() + block.shape().cell_at(address - block.start()),
        }
    }

    /// Takes a block of `bin` that may have free cells.
    pub(crate) fn adopt(&self, bin: Bin) -> Option<Link> {
        let pools = [&self.abandoned, &self.pools];
        pools
            .into_iter()
            .find_map(|pools| pools[bin.index()].pop(&self.directory))
    }

    /// Takes the header of `page` out of use.
    pub(crate) fn forget_block(&self, page: Page) {
        self.directory.header(page).set_state(State::Unused);
        self.directory.clear_start(page);
    }
}
