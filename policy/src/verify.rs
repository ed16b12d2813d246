// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of the whole heap, for debug builds and tests, while all threads are stopped.

use crate::block::{Block, State};
use crate::config::{Config, LOG_PAGE_BYTES};
use crate::directory::{Chunk, Page};
use crate::heads::Heads;
use crate::heap::Heap;
use crate::local::Local;
use crate::marks::for_each_marked;
use crate::pages::{ones_of, CHUNK_PAGES};
use crate::size_class::Bin;
use crate::stack::NONE;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;

/// A thread's side of the allocator, as [`Heap::verify`] looks at it.
pub type Thread<'a> = (&'a Local, &'a Heads);

/// By first page of their block, the free cells that threads have at hand.
type WithThreads = HashMap<Page, Vec<usize>>;

impl<C: Config> Heap<C> {
    /// Checks that every page is free or in exactly one block; that every block is where its header says; that the
    /// free cells that are at hand belong to their block, lie on charged pages, are there once and are not marked;
    /// that each block's count of used cells is right; and that `charged_pages`, the embedder's count,
    /// equals a recount. `threads` are all threads that allocate.
    ///
    /// To be called between collections, while the bits that sweeping reads are those of the last one.
    ///
    /// # Errors
    /// Says in one line what is wrong first.
    pub fn verify(&self, threads: &[Thread<'_>], charged_pages: usize) -> Result<(), String> {
        self.verify_places(threads)?;
        self.verify_pages()?;
        let with_threads = self.cells_with_threads(threads)?;
        let mut recount: usize = threads.iter().map(|(local, _)| local.unused_credit()).sum();
        for (page, block) in self.blocks_by_page() {
            recount += block.charged_pages();
            let used = match block.state() {
                State::Large => 1,
                _ => self.verify_cells(block, with_threads.get(&page))?,
            };
            if used != block.used_cells() as usize {
                return Err(format!(
                    "block {:#x} has {used} used cells, its header says {}",
                    block.start(),
                    block.used_cells()
                ));
            }
        }
        if recount != charged_pages {
            return Err(format!(
                "{charged_pages} pages are charged, a recount finds {recount}"
            ));
        }
        Ok(())
    }

    /// Checks that every mark is at the start of a cell that was handed out, as far as is known: not on
    /// a page that is not charged, and not on a free cell at hand. To be called after marking and before the
    /// release.
    ///
    /// # Errors
    /// Says in one line what is wrong first.
    pub fn verify_marks(&self, threads: &[Thread<'_>]) -> Result<(), String> {
        let with_threads = self.cells_with_threads(threads)?;
        let mut marks = HashSet::new();
        for chunk in self.chunks() {
            self.verify_noted(chunk, &mut marks)?;
        }
        for (page, block) in self.blocks_by_page() {
            if block.state() == State::Large {
                marks.remove(&block.start());
                continue;
            }
            let shape = block.shape();
            let with_threads = with_threads.get(&page);
            let free: HashSet<usize> = self.cells_at_hand(block, with_threads).collect();
            let reach = shape.reached(0, block.opened());
            for offset in reach.step_by(shape.cell_bytes()) {
                let cell = block.start() + offset;
                if marks.remove(&cell) && free.contains(&cell) {
                    return Err(format!("free cell {cell:#x} is marked"));
                }
            }
        }
        match marks.iter().next() {
            None => Ok(()),
            Some(mark) => Err(format!("the mark at {mark:#x} is at no cell in use")),
        }
    }

    /// Adds the marks of a chunk, and checks that each was noted.
    fn verify_noted(&self, chunk: Chunk, marks: &mut HashSet<usize>) -> Result<(), String> {
        for (page, noted) in self.directory.marked(chunk).iter().enumerate() {
            let start = self.directory.start(chunk) + (page << LOG_PAGE_BYTES);
            let words = self.marks.of_page(start);
            if noted.load(Relaxed) {
                for_each_marked(words, |offset| {
                    marks.insert(start + offset);
                });
            } else if words.iter().any(|&word| word != 0) {
                return Err(format!(
                    "nobody has noted the marks of the page at {start:#x}"
                ));
            }
        }
        Ok(())
    }

    /// The free cells of `block` that threads have, and that were put back.
    fn cells_at_hand<'a>(
        &self,
        block: &'a Block,
        with_threads: Option<&'a Vec<usize>>,
    ) -> impl Iterator<Item = usize> + use<'a, C> {
        let put_back = block.bump().step_by(block.bin().cell_bytes());
        let with_threads = with_threads.into_iter().flatten().copied();
        with_threads.chain(block.free_cells()).chain(put_back)
    }

    /// The cells in the heads of all threads, by their blocks.
    fn cells_with_threads(&self, threads: &[Thread<'_>]) -> Result<WithThreads, String> {
        let blocks: BTreeMap<usize, (Page, &Block)> = self
            .blocks_by_page()
            .map(|(page, block)| (block.start(), (page, block)))
            .collect();
        let mut found = WithThreads::new();
        for (bin, cell) in threads.iter().flat_map(|(_, heads)| Self::cells_in(heads)) {
            match blocks.range(..=cell).next_back() {
                Some((_, &(page, block))) if block.bin() == bin => {
                    found.entry(page).or_default().push(cell);
                }
                _ => {
                    return Err(format!(
                        "free cell {cell:#x} of {bin:?} is in no block of it"
                    ))
                }
            }
        }
        Ok(found)
    }

    fn cells_in(heads: &Heads) -> impl Iterator<Item = (Bin, usize)> + '_ {
        let bins = (0..C::BINS).map(Bin::from_index);
        bins.flat_map(|bin| heads.cells(bin).map(move |cell| (bin, cell)))
    }

    /// The cells that were handed out and have not been collected, and large objects, with their sizes. Cells that
    /// `threads` have at hand are not among them.
    pub fn used_cells(&self, threads: &[Thread<'_>]) -> Vec<(usize, usize)> {
        let with_threads = self.cells_with_threads(threads).unwrap_or_default();
        let mut used = Vec::new();
        for (page, block) in self.blocks_by_page() {
            if block.state() == State::Large {
                used.push((block.start(), block.pages() << LOG_PAGE_BYTES));
                continue;
            }
            let with_threads = with_threads.get(&page);
            let free: HashSet<usize> = self.cells_at_hand(block, with_threads).collect();
            let cells = self.known_cells(block).filter(|cell| !free.contains(cell));
            used.extend(cells.map(|cell| (cell, block.bin().cell_bytes())));
        }
        used
    }

    /// The cells of a block on charged pages but those that are dead and have not been found yet.
    fn known_cells<'a>(&'a self, block: &'a Block) -> impl Iterator<Item = usize> + 'a {
        let shape = block.shape();
        let reach = shape.reached(0, block.opened());
        reach
            .step_by(shape.cell_bytes())
            .filter(|&offset| {
                offset < block.swept() || self.sweep.is_marked(block.start() + offset)
            })
            .map(|offset| block.start() + offset)
    }

    /// Checks that each page of each chunk is free or in one block, and that the count of dirty pages is right.
    fn verify_pages(&self) -> Result<(), String> {
        let mut owned = HashSet::new();
        for (page, block) in self.blocks_by_page() {
            if block.pages() == 0 || block.start() != self.directory.address(page) {
                return Err(format!("page {page} is not where {block:?} begins"));
            }
            if let Some(page) = (page..page + block.pages()).find(|&page| !owned.insert(page)) {
                return Err(format!("page {page} is in two blocks"));
            }
        }
        let mut dirty = 0;
        for chunk in self.chunks() {
            let pages = &self.directory.state(chunk).pages;
            dirty += ones_of(pages.dirty_pages()).count();
            for page in ones_of(pages.free_pages()).map(|page| self.directory.page(chunk, page)) {
                if !owned.insert(page) {
                    return Err(format!("page {page} is free and in a block"));
                }
            }
        }
        if dirty != self.dirty_pages() {
            let counted = self.dirty_pages();
            return Err(format!(
                "{counted} pages are counted as dirty, a recount finds {dirty}"
            ));
        }
        let all = self.chunks().count() * CHUNK_PAGES;
        match owned.len() {
            len if len == all => Ok(()),
            len => Err(format!("{len} of {all} pages are free or in a block")),
        }
    }

    /// Checks that each block is in the pool or with the thread that its header says.
    fn verify_places(&self, threads: &[Thread<'_>]) -> Result<(), String> {
        let mut places = HashMap::new();
        for bin in (0..C::BINS).map(Bin::from_index) {
            let pools =
                [&self.pools, &self.abandoned, &self.growing].map(|pools| &pools[bin.index()]);
            for link in pools
                .into_iter()
                .flat_map(|pool| pool.iter(&self.directory))
            {
                let block = self.block(link);
                if block.bin() != bin || places.insert(link, State::Pooled).is_some() {
                    return Err(format!(
                        "{block:?} is twice in a pool, or in that of {bin:?}"
                    ));
                }
            }
        }
        for (local, _) in threads {
            for bin in (0..C::BINS).map(Bin::from_index) {
                let former = local.former[bin.index()];
                let kept = (former != NONE && self.block(former).state() == State::Kept)
                    .then_some((former, State::Kept));
                let current = local.current[bin.index()];
                let current = (current != NONE).then_some((current, State::Current));
                for (link, state) in kept.into_iter().chain(current) {
                    if self.block(link).bin() != bin || places.insert(link, state).is_some() {
                        return Err(format!(
                            "{:?} has two owners, or another bin than {bin:?}",
                            self.block(link)
                        ));
                    }
                }
            }
        }
        for (page, block) in self.blocks_by_page() {
            let listed = places.remove(&self.directory.link_to(page));
            let expected = match block.state() {
                state @ (State::Pooled | State::Current | State::Kept) => Some(state),
                _ => None,
            };
            if listed != expected {
                return Err(format!("{block:?} is {listed:?}"));
            }
        }
        match places.keys().next() {
            None => Ok(()),
            Some(&link) => Err(format!("{:?} is on a list, but no block", self.block(link))),
        }
    }

    /// Checks the free cells of `block` that are at hand and returns the number of cells that are used.
    fn verify_cells(
        &self,
        block: &Block,
        with_threads: Option<&Vec<usize>>,
    ) -> Result<usize, String> {
        let shape = block.shape();
        let mut free = HashSet::new();
        for cell in self.cells_at_hand(block, with_threads) {
            let offset = cell.wrapping_sub(block.start());
            if !shape.is_cell(offset) {
                return Err(format!("{cell:#x} is no cell of {block:?}"));
            }
            if offset >= shape.reached(0, block.opened()).end {
                return Err(format!(
                    "free cell {cell:#x} is on a page that is not charged"
                ));
            }
            // Second mark bits mean nothing on pages that the last collection has not found live.
            let has_bits = self.sweep == self.marks || block.live_cells() != 0;
            if has_bits && self.sweep.is_marked(cell) {
                return Err(format!("free cell {cell:#x} is marked"));
            }
            if offset >= block.swept() {
                return Err(format!("free cell {cell:#x} has not been swept"));
            }
            if !free.insert(cell) {
                return Err(format!("free cell {cell:#x} is there twice"));
            }
        }
        let put_back = block.free_cells().count() + block.bump().len() / shape.cell_bytes();
        Ok(self.known_cells(block).count() - put_back)
    }
}
