// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of the whole heap, for debug builds and tests, while all threads are stopped.

use crate::block::{Block, State};
use crate::config::{Config, LOG_PAGE_BYTES};
use crate::heads::Heads;
use crate::heap::Heap;
use crate::local::Local;
use crate::marks::for_each_marked;
use crate::shape::Shape;
use crate::size_class::Bin;
use crate::stack::{Link, NONE};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;

/// A thread's side of the allocator, as [`Heap::verify`] looks at it.
pub type Thread<'a> = (&'a Local, &'a Heads);

impl<C: Config> Heap<C> {
    /// Checks that every block is in exactly one list, the one that its header names; that the cells
    /// on free lists belong to their block, lie on charged pages, are on one list and are not marked;
    /// that each block's count of used cells is right; and that `charged_pages`, the embedder's count,
    /// equals a recount. `threads` are all threads that allocate.
    ///
    /// To be called between collections, while the mark bits are those of the last one.
    ///
    /// # Errors
    /// Says in one line what is wrong first.
    pub fn verify(&self, threads: &[Thread<'_>], charged_pages: usize) -> Result<(), String> {
        self.verify_lists(threads)?;
        let (counted, dirty) = (self.dirty_pages(), self.statistics().dirty_pages);
        if counted != dirty {
            return Err(format!(
                "{counted} pages are counted as dirty, a recount finds {dirty}"
            ));
        }
        let mut recount: usize = threads.iter().map(|(local, _)| local.unused_credit()).sum();
        let current = self.current_blocks(threads);
        for block in self.blocks() {
            recount += block.charged_pages::<C>();
            if block.state() == State::Free {
                if block.open() != 0 {
                    return Err(format!("free block {:#x} has charged pages", block.start()));
                }
                continue;
            }
            let used = self.verify_cells(block, current.get(&block.start()).copied())?;
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
    /// a page that is not open, and not on a free list. To be called after marking and before the
    /// release.
    ///
    /// # Errors
    /// Says in one line what is wrong first.
    pub fn verify_marks(&self, threads: &[Thread<'_>]) -> Result<(), String> {
        let current = self.current_blocks(threads);
        for block in self.blocks() {
            let shape = Shape::<C>::of(block.bin());
            let listed = self.listed_cells(block, current.get(&block.start()).copied());
            let free: HashSet<usize> = listed.collect();
            for page in 0..C::BLOCK_PAGES {
                let mut marked = Vec::new();
                let start = page << LOG_PAGE_BYTES;
                let words = self.marks.of_page(block.start() + start);
                for_each_marked(words, |offset| marked.push(start + offset));
                for offset in marked {
                    let cell = block.start() + offset;
                    // SAFETY: the cell is in a block of the heap.
                    if !unsafe { self.directory.marked_at(cell) }.load(Relaxed) {
                        return Err(format!("nobody has noted the mark at {cell:#x}"));
                    }
                    if offset % shape.cell_bytes() != 0
                        || shape.pages_of(offset) & !block.open() != 0
                    {
                        return Err(format!("the mark at {cell:#x} is at no cell in use"));
                    }
                    if free.contains(&cell) {
                        return Err(format!("free cell {cell:#x} is marked"));
                    }
                }
            }
        }
        Ok(())
    }

    /// The cells of `block` that are on free lists: the thread's, if it is current, and its own.
    fn listed_cells<'a>(
        &self,
        block: &Block,
        current: Option<(&'a Heads, Bin)>,
    ) -> impl Iterator<Item = usize> + use<'a, C> {
        let handed_out = current
            .into_iter()
            .flat_map(|(heads, bin)| heads.cells(bin));
        handed_out.chain(block.free_cells())
    }

    /// The cells that were handed out and have not been collected, with their sizes. Cells on the
    /// free lists of `threads` are not among them.
    pub fn used_cells(&self, threads: &[Thread<'_>]) -> Vec<(usize, usize)> {
        let current = self.current_blocks(threads);
        let mut used = Vec::new();
        for block in self.blocks().filter(|b| b.state() != State::Free) {
            let listed = self.listed_cells(block, current.get(&block.start()).copied());
            let free: HashSet<usize> = listed.collect();
            let shape = Shape::<C>::of(block.bin());
            used.extend(
                shape
                    .offsets()
                    .filter(|&offset| self.is_off_unswept(block, offset))
                    .map(|offset| block.start() + offset)
                    .filter(|cell| !free.contains(cell))
                    .map(|cell| (cell, shape.cell_bytes())),
            );
        }
        used
    }

    /// Whether the cell at `offset` is either live or within the reach of a free list.
    fn is_off_unswept(&self, block: &Block, offset: usize) -> bool {
        let shape = Shape::<C>::of(block.bin());
        let unswept = block.unswept() >> (offset >> LOG_PAGE_BYTES) & 1 != 0;
        shape.pages_of(offset) & !block.open() == 0
            && (!unswept || self.marks.is_marked(block.start() + offset))
    }

    fn current_blocks<'a>(&self, threads: &[Thread<'a>]) -> HashMap<usize, (&'a Heads, Bin)> {
        let mut blocks = HashMap::new();
        for (local, heads) in threads {
            for bin in (0..C::BINS).map(Bin::from_index) {
                let current = local.owned[bin.index()].current;
                if current != NONE {
                    blocks.insert(self.block(current).start(), (*heads, bin));
                }
            }
        }
        blocks
    }

    fn verify_lists(&self, threads: &[Thread<'_>]) -> Result<(), String> {
        let mut seen = HashSet::new();
        let mut visit = |link: Link, state: State, owner: u32, bin: Option<Bin>| {
            let block = self.block(link);
            if !seen.insert(link) {
                return Err(format!("block {:#x} is in two lists", block.start()));
            }
            if (block.state(), block.owner()) != (state, owner)
                || bin.is_some_and(|bin| bin != block.bin())
            {
                return Err(format!(
                    "{block:?} is in the list {state:?} of owner {owner} and bin {bin:?}"
                ));
            }
            Ok(())
        };
        for (pool, state) in self.pools.all() {
            for link in pool.iter(&self.directory) {
                visit(link, state, 0, None)?;
            }
        }
        for (local, heads) in threads {
            for bin in (0..C::BINS).map(Bin::from_index) {
                let owned = &local.owned[bin.index()];
                if owned.current != NONE {
                    visit(owned.current, State::Current, local.owner(), Some(bin))?;
                } else if !heads.is_empty(bin) {
                    return Err(format!("{bin:?} has free cells of no block"));
                }
                for (chain, state) in [
                    (owned.unswept, State::Unswept),
                    (owned.available, State::Available),
                    (owned.full, State::Full),
                ] {
                    for link in chain.iter(&self.directory) {
                        visit(link, state, local.owner(), Some(bin))?;
                    }
                }
            }
        }
        let blocks = self.blocks().count();
        if seen.len() != blocks {
            return Err(format!("{} of {blocks} blocks are in a list", seen.len()));
        }
        Ok(())
    }

    /// Checks the free cells of `block` and returns the number of cells that are used.
    fn verify_cells(&self, block: &Block, current: Option<(&Heads, Bin)>) -> Result<usize, String> {
        let shape = Shape::<C>::of(block.bin());
        let mut free = HashSet::new();
        for cell in self.listed_cells(block, current) {
            let offset = cell.wrapping_sub(block.start());
            if offset >= C::BLOCK_BYTES || offset % shape.cell_bytes() != 0 {
                return Err(format!(
                    "{cell:#x} is no cell of block {:#x}",
                    block.start()
                ));
            }
            if shape.pages_of(offset) & !block.open() != 0 {
                return Err(format!(
                    "free cell {cell:#x} is on a page that is not charged"
                ));
            }
            if self.marks.is_marked(cell) {
                return Err(format!("free cell {cell:#x} is marked"));
            }
            if block.unswept() >> (offset >> LOG_PAGE_BYTES) & 1 != 0 {
                return Err(format!("free cell {cell:#x} is on an unswept page"));
            }
            if !free.insert(cell) {
                return Err(format!("free cell {cell:#x} is in two lists"));
            }
        }
        let reach = shape.offsets().filter(|&o| self.is_off_unswept(block, o));
        Ok(reach.count() - block.free_cells().count())
    }
}
