// SPDX-License-Identifier: MIT OR Apache-2.0
//! The allocator against a slow model: any sequence of allocations, deaths, collections, purges and
//! thread exits hands out no cell twice, loses none, and charges what a recount finds.
#![cfg(not(loom))]

mod common;

use common::{Mutator, Numbers, Space};
use proptest::prelude::*;
use shardsweep_policy::*;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

const THREADS: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    /// Thread, size class of the request (see `size`), number of objects.
    Allocate(usize, usize, usize),
    /// Thread, number of pages.
    AllocateLarge(usize, usize),
    /// Every object whose turn comes among so many dies.
    Kill(usize),
    Collect,
    /// Collect, but make nothing old: the next collection is of all.
    CollectAgain,
    /// Collect what was allocated since the last collection.
    CollectYoung,
    /// Marking begins beside the threads.
    BeginMarking,
    /// It comes to one object in so many of those that it has not come to.
    MarkSome(usize),
    /// Collect, then leave so many pages dirty.
    Purge(usize),
    /// Return pages to the OS, up to so many batches, between allocations.
    PurgeLater(usize),
    Abandon(usize),
    /// The thread exits and a new one takes its place.
    Exit(usize),
}

/// Steps of threads that stop for whole collections, of which some look at new objects alone.
fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => common_step(),
        2 => Just(Step::CollectYoung),
        1 => Just(Step::CollectAgain),
    ]
}

/// Steps of threads beside which marking runs.
fn concurrent_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => common_step(),
        2 => Just(Step::BeginMarking),
        2 => (1usize..5).prop_map(Step::MarkSome),
    ]
}

fn common_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..THREADS, 0usize..1000, 1usize..120).prop_map(|(t, s, n)| Step::Allocate(t, s, n)),
        2 => (0..THREADS, 1usize..60).prop_map(|(t, n)| Step::AllocateLarge(t, n)),
        1 => (0..THREADS, 1usize..1800).prop_map(|(t, n)| Step::AllocateLarge(t, n)),
        3 => (1usize..9).prop_map(Step::Kill),
        2 => Just(Step::Collect),
        2 => (0usize..40).prop_map(Step::Purge),
        1 => (1usize..12).prop_map(Step::PurgeLater),
        1 => (0..THREADS).prop_map(Step::Abandon),
        1 => (0..THREADS).prop_map(Step::Exit),
    ]
}

/// What is special about the space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// The OS has huge pages.
    Huge,
    /// Marking can run beside the threads.
    Concurrent,
}

/// What the program and an omniscient observer know.
struct Model<C: Config> {
    space: Space<C>,
    mutators: Vec<Mutator>,
    /// Objects that the program can reach: address to cell size.
    live: BTreeMap<usize, usize>,
    /// All objects since the last collection, and its survivors.
    used: BTreeMap<usize, usize>,
    /// Those that have survived a collection.
    old: BTreeMap<usize, usize>,
    /// Whether their bits say so.
    makes_old: bool,
    /// Addresses of those that were too large for a cell.
    large: BTreeSet<usize>,
    /// Pages that the OS holds, because a cell on them was handed out, or because they are of a huge page.
    resident: BTreeSet<usize>,
    /// Huge pages that have been made and are not noted as resident yet, each with whether what was there is kept.
    backed: Arc<Mutex<Vec<(PageRange, bool)>>>,
    /// Bytes in the objects that the last collection kept.
    live_bytes: usize,
    numbers: Numbers,
    kind: Kind,
    /// While it does, what was live when it began and is not marked yet; and all that it keeps.
    snapshot: Option<(BTreeMap<usize, usize>, BTreeMap<usize, usize>)>,
}

fn pages(cell: usize, bytes: usize) -> impl Iterator<Item = usize> {
    cell / PAGE_BYTES..=(cell + bytes - 1) / PAGE_BYTES
}

fn pages_of(cells: &BTreeMap<usize, usize>) -> BTreeSet<usize> {
    let pages = cells.iter().flat_map(|(&cell, &size)| pages(cell, size));
    pages.collect()
}

/// What the OS does with pages that it gets back, none of which may be one of `used`: the contents are lost.
fn take_back(range: &PageRange, used: &BTreeSet<usize>, resident: &mut BTreeSet<usize>) {
    for page in pages(range.start, range.pages * PAGE_BYTES) {
        assert!(!used.contains(&page), "a page in use went to the OS");
        resident.remove(&page);
    }
    // SAFETY: no cell on the pages was handed out.
    unsafe {
        word(range.start)
            .cast::<u8>()
            .write_bytes(0xdb, range.pages * PAGE_BYTES);
    }
}

fn word(address: usize) -> *mut usize {
    std::ptr::with_exposed_provenance_mut(address)
}

impl<C: Config> Model<C> {
    fn new(limit: usize, kind: Kind) -> Self {
        let backed = Arc::<Mutex<Vec<(PageRange, bool)>>>::default();
        let space = match kind {
            Kind::Plain => Space::new(3, limit),
            Kind::Concurrent => Space::concurrent(3, limit),
            Kind::Huge => {
                let (made, kept) = (Arc::clone(&backed), Arc::clone(&backed));
                let calls = AtomicUsize::new(0);
                Space::huge(
                    3,
                    limit,
                    move |place| made.lock().unwrap().push((place, false)),
                    move |place| {
                        let has_one = calls.fetch_add(1, SeqCst) % 3 != 0;
                        if has_one {
                            kept.lock().unwrap().push((place, true));
                        }
                        has_one
                    },
                )
            }
        };
        Model {
            space,
            backed,
            mutators: (0..THREADS).map(|_| Mutator::default()).collect(),
            live: BTreeMap::new(),
            used: BTreeMap::new(),
            old: BTreeMap::new(),
            makes_old: true,
            large: BTreeSet::new(),
            resident: BTreeSet::new(),
            live_bytes: 0,
            numbers: Numbers(limit as u64),
            kind,
            snapshot: None,
        }
    }

    /// Mostly small sizes, some of any.
    fn size(&mut self, class: usize) -> usize {
        match class {
            0..700 => 1 + class % 200,
            700..900 => 1 + self.numbers.below(2048.min(C::BLOCK_BYTES)),
            _ => 1 + self.numbers.below(C::BLOCK_BYTES),
        }
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Allocate(thread, class, count) => {
                let bytes = self.size(class);
                for _ in 0..count {
                    if !self.allocate(thread, bytes, if class % 5 == 0 { 16 } else { 8 }) {
                        self.collect(usize::MAX);
                        break;
                    }
                }
            }
            Step::AllocateLarge(thread, count) => {
                let count = NonZeroUsize::new(count).unwrap();
                let object = self.space.alloc_large(&mut self.mutators[thread], count);
                self.note_backed();
                match object {
                    Some(object) => {
                        self.large.insert(object);
                        self.note(object, count.get() * PAGE_BYTES);
                    }
                    None => self.collect(usize::MAX),
                }
            }
            Step::Kill(one_in) => {
                let numbers = &mut self.numbers;
                self.live.retain(|_, _| numbers.below(one_in) != 0);
            }
            Step::Collect => self.collect(usize::MAX),
            Step::CollectAgain => self.collect_making_old(false, usize::MAX),
            Step::CollectYoung if self.makes_old => self.collect_scope(Scope::Young, usize::MAX),
            Step::CollectYoung => self.collect(usize::MAX),
            Step::BeginMarking => self.begin_marking(),
            Step::MarkSome(one_in) => self.mark_some(one_in),
            Step::Purge(keep) => self.collect(keep),
            Step::PurgeLater(batches) => {
                let (used, resident) = (pages_of(&self.used), &mut self.resident);
                let release = |ranges: &[PageRange]| {
                    ranges
                        .iter()
                        .for_each(|range| take_back(range, &used, resident));
                };
                self.space.heap.purge(release).take(batches).for_each(drop);
            }
            Step::Abandon(thread) => self.abandon(thread),
            Step::Exit(thread) => {
                self.abandon(thread);
                self.mutators[thread] = Mutator::default();
            }
        }
        self.check();
    }

    /// What a thread had at hand of blocks that it shared counts as used until the next collection: little of each size.
    fn abandon(&mut self, thread: usize) {
        self.space.abandon(&mut self.mutators[thread]);
        let mut lost = BTreeMap::<usize, usize>::new();
        for (cell, bytes) in self.cells_in_use() {
            if self.used.insert(cell, bytes).is_none() {
                *lost.entry(bytes).or_default() += bytes;
            }
        }
        for (cell, lost) in lost {
            assert!(
                lost < cell + 512,
                "{lost} bytes of cells of {cell} bytes are lost"
            );
        }
    }

    fn cells_in_use(&self) -> Vec<(usize, usize)> {
        let threads: Vec<_> = self.mutators.iter().map(Mutator::view).collect();
        self.space.heap.used_cells(&threads)
    }

    fn allocate(&mut self, thread: usize, bytes: usize, align: usize) -> bool {
        let Some(bin) = C::bin(bytes, align) else {
            return true;
        };
        let mutator = &mut self.mutators[thread];
        let cell = self.space.alloc(mutator, bin).map(|cell| (cell, bin));
        let cell = cell.or_else(|| self.space.borrow(mutator, bin, align));
        self.note_backed();
        let Some((cell, bin)) = cell else {
            return false;
        };
        let cell_bytes = bin.cell_bytes();
        assert!(cell_bytes >= bytes && cell % align == 0);
        self.note(cell, cell_bytes);
        true
    }

    /// What the OS does to make a huge page: what was there is lost, hence nothing in use, unless it is to be kept. An allocation
    /// that fails may have made one too.
    fn note_backed(&mut self) {
        let used = pages_of(&self.used);
        for (place, is_kept) in self.backed.lock().unwrap().drain(..) {
            assert_eq!(
                (place.start % HUGE_PAGE_BYTES, place.pages * PAGE_BYTES),
                (0, HUGE_PAGE_BYTES)
            );
            if !is_kept {
                take_back(&place, &used, &mut self.resident);
            }
            self.resident.extend(pages(place.start, HUGE_PAGE_BYTES));
        }
    }

    /// Writes to a new object, which must lie apart from all others.
    fn note(&mut self, cell: usize, cell_bytes: usize) {
        let below = self.used.range(..cell + cell_bytes).next_back();
        assert!(
            below.is_none_or(|(&other, &size)| other + size <= cell),
            "{cell:#x} overlaps {below:x?}"
        );
        // SAFETY: the cell is ours; the last word is written first as it may be the first.
        unsafe {
            word(cell + cell_bytes - 8).write(!cell);
            word(cell).write(cell);
        }
        self.used.insert(cell, cell_bytes);
        self.live.insert(cell, cell_bytes);
        if let Some((_, kept)) = &mut self.snapshot {
            kept.insert(cell, cell_bytes);
        }
        self.resident.extend(pages(cell, cell_bytes));
    }

    fn collect(&mut self, keep: usize) {
        self.collect_making_old(true, keep);
    }

    fn collect_making_old(&mut self, old: bool, keep: usize) {
        self.makes_old = old;
        if self.kind != Kind::Concurrent {
            self.space.heap.set_makes_old(old);
        }
        self.collect_scope(Scope::Full, keep);
    }

    fn collect_scope(&mut self, scope: Scope, keep: usize) {
        for (&cell, &bytes) in &self.live {
            // SAFETY: the object lives, so its cell is ours.
            let (first, last) = unsafe { (word(cell).read(), word(cell + bytes - 8).read()) };
            assert_eq!(first, cell, "an object was overwritten");
            assert!(bytes == 8 || last == !cell, "an object was overwritten");
            for inside in [cell, cell + bytes / 2, cell + bytes - 1] {
                // SAFETY: the object is in use.
                let found = unsafe { self.space.heap.object_at(inside) };
                assert_eq!(found, cell, "the object that {inside:#x} lies in");
            }
        }
        let mut kept = self.live.clone();
        match scope {
            Scope::Full if self.kind == Kind::Concurrent => {
                self.begin_marking();
                self.mark_some(1);
                self.space.end_marking(self.mutators.iter());
                kept = self.snapshot.take().unwrap().1;
            }
            Scope::Full => self.space.mark(kept.keys().copied()),
            Scope::Young => {
                self.space.mark_more(kept.keys().copied());
                kept.append(&mut self.old);
            }
        }
        self.space.verify_marks(self.mutators.iter());
        let released = self.space.release_scope(scope, self.mutators.iter_mut());
        self.note_kept(kept);
        let live_pages = pages_of(&self.used);
        let charged = match C::ACCOUNTING {
            Accounting::Page => live_pages.len(),
            Accounting::Block => {
                let (large, small): (BTreeMap<usize, usize>, BTreeMap<usize, usize>) = self
                    .used
                    .iter()
                    .partition(|(object, _)| self.large.contains(object));
                let block = |page| page * PAGE_BYTES / C::BLOCK_BYTES;
                let blocks: BTreeSet<usize> = pages_of(&small).into_iter().map(block).collect();
                blocks.len() * C::BLOCK_PAGES + pages_of(&large).len()
            }
        };
        assert_eq!(self.space.charged(), charged);
        if scope == Scope::Full {
            assert_eq!(released.charged_pages, charged);
            assert_eq!(released.live_cells, self.used.len());
            assert_eq!(released.live_bytes, self.live_bytes);
        }
        let resident = &mut self.resident;
        let dirty = self.space.heap.dirty_pages();
        self.space.purge(keep, |range| {
            take_back(range, &live_pages, resident);
        });
        assert!(self.space.heap.statistics().dirty_pages <= keep.min(dirty));
        assert!(self.resident.len() <= charged.saturating_add(keep));
        self.space.remove_chunks();
    }

    /// Starts marking, unless it runs.
    fn begin_marking(&mut self) {
        if self.snapshot.is_none() {
            self.space.begin_marking(self.mutators.iter());
            self.snapshot = Some((self.live.clone(), self.live.clone()));
        }
    }

    /// Marks one object in so many of those that were live when marking began.
    fn mark_some(&mut self, one_in: usize) {
        let (numbers, space) = (&mut self.numbers, &self.space);
        if let Some((unmarked, _)) = &mut self.snapshot {
            unmarked.retain(|&cell, _| {
                let later = numbers.below(one_in) != 0;
                if !later {
                    space.mark_more(std::iter::once(cell));
                }
                later
            });
        }
    }

    /// Notes what a collection keeps.
    fn note_kept(&mut self, kept: BTreeMap<usize, usize>) {
        if self.kind == Kind::Concurrent {
            // What second bits say of other pages, nobody asks.
            let pages: BTreeSet<usize> = kept.keys().map(|cell| cell / PAGE_BYTES).collect();
            for page in pages {
                let word = (page * PAGE_BYTES - self.space.base) / 512;
                let bits = &self.space.old_bits()[word..][..PAGE_BYTES / 512];
                let ones: u32 = bits.iter().map(|word| word.load(SeqCst).count_ones()).sum();
                let start = page * PAGE_BYTES;
                assert_eq!(ones as usize, kept.range(start..start + PAGE_BYTES).count());
            }
        } else {
            self.check_old_bits(&kept);
        }
        self.live_bytes = kept.values().sum();
        self.large.retain(|object| kept.contains_key(object));
        self.used.clone_from(&kept);
        self.old = kept;
    }

    fn check_old_bits(&self, kept: &BTreeMap<usize, usize>) {
        let mut old_bits = vec![0u64; self.space.old_bits().len()];
        for object in kept.keys().filter(|_| self.makes_old) {
            let granule = (object - self.space.base) / 8;
            old_bits[granule / 64] |= 1 << (granule % 64);
        }
        let found = self.space.old_bits().iter().map(|word| word.load(SeqCst));
        assert!(found.eq(old_bits), "bits of old objects");
    }

    fn check(&self) {
        self.space.verify(self.mutators.iter());
        let mut cells = self.cells_in_use();
        cells.sort_unstable();
        assert!(
            cells
                .iter()
                .copied()
                .eq(self.used.iter().map(|(&c, &b)| (c, b))),
            "the cells in use are not those that were handed out"
        );
        assert!(self.space.charged() <= self.space.limit);
    }
}

fn run<C: Config>(limit: usize, kind: Kind, steps: &[Step]) {
    let mut model = Model::<C>::new(limit.max(2 * C::BLOCK_PAGES), kind);
    for step in steps {
        model.apply(step);
    }
    // All that was ever charged can be had back: what marking keeps that runs now, by the next collection.
    model.live.clear();
    model.collect(0);
    model.collect(0);
    assert_eq!(model.space.charged(), 0);
    assert_eq!(model.resident.len(), 0);
    assert_eq!(model.space.heap.chunks().count(), 0);
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 1 } else { 24 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

macro_rules! against_the_model {
    ($($name:ident: $log:literal, $by_block:literal, $step:ident, $kind:ident;)*) => {
        proptest! {
            #![proptest_config(config())]
            $(
                #[test]
                fn $name(
                    limit in 8usize..2400,
                    steps in prop::collection::vec($step(), 1..if cfg!(miri) { 5 } else { 80 }),
                ) {
                    // Thousands of small blocks are too many for Miri.
                    if !cfg!(miri) || $log >= 16 {
                        run::<Blocks<$log, $by_block>>(limit, Kind::$kind, &steps);
                    }
                }
            )*
        }
    };
}

against_the_model! {
    blocks_of_4k: 12, false, step, Plain;
    blocks_of_8k: 13, false, step, Plain;
    blocks_of_16k_whole: 14, true, step, Plain;
    blocks_of_32k: 15, false, step, Plain;
    blocks_of_64k: 16, false, step, Plain;
    blocks_of_64k_whole: 16, true, step, Plain;
    blocks_of_128k: 17, false, step, Plain;
    blocks_of_256k: 18, false, step, Plain;
    huge_4k: 12, false, step, Huge;
    huge_64k: 16, false, step, Huge;
    huge_64k_whole: 16, true, step, Huge;
    concurrent_4k: 12, false, concurrent_step, Concurrent;
    concurrent_64k: 16, false, concurrent_step, Concurrent;
    concurrent_64k_whole: 16, true, concurrent_step, Concurrent;
}

#[test]
fn a_thread_goes_on_with_its_own_block_behind_a_collection() {
    let space = Space::<Blocks64K>::new(1, usize::MAX);
    let bin = Bin::holding(64);
    let mut mutators = [Mutator::default(), Mutator::default()];
    let cells: Vec<usize> = mutators
        .iter_mut()
        .map(|mutator| space.alloc(mutator, bin).unwrap())
        .collect();
    space.mark(cells.iter().copied());
    for scope in [Scope::Full, Scope::Young] {
        space.release_scope(scope, mutators.iter_mut());
        // The last to leave its block would be the first to get one.
        for (mutator, cell) in mutators.iter_mut().zip(&cells) {
            let next = space.alloc(mutator, bin).unwrap();
            assert_eq!(next / PAGE_BYTES, cell / PAGE_BYTES, "{scope:?}");
        }
    }
    // A block that its thread does not come for serves others after the next collection.
    for _ in 0..2 {
        space.release_scope(Scope::Young, mutators.iter_mut());
    }
    let mut page = || space.alloc(&mut mutators[0], bin).unwrap() / PAGE_BYTES;
    let pages: Vec<usize> = (0..128).map(|_| page()).collect();
    assert!(cells
        .iter()
        .all(|cell| pages.contains(&(cell / PAGE_BYTES))));
}

#[test]
fn cells_that_a_collection_has_left_free_count_as_reused() {
    let space = Space::<Blocks64K>::new(1, 2);
    let bin = Bin::holding(64);
    let mut mutator = Mutator::default();
    let fill = |mutator: &mut Mutator| -> Vec<usize> {
        std::iter::from_fn(|| space.alloc(mutator, bin)).collect()
    };
    let cells = fill(&mut mutator);
    assert_eq!(mutator.local.take_reused(), 0, "all are of fresh pages");
    space.mark(cells.iter().copied().step_by(2));
    space.release(std::iter::once(&mut mutator));
    let reused = fill(&mut mutator);
    assert_eq!(reused.len(), cells.len() / 2);
    assert_eq!(mutator.local.take_reused(), reused.len() * 64);
    assert_eq!(mutator.local.reused(), 0);
}

#[test]
fn what_a_thread_gives_back_does_not_count_as_reused() {
    let space = Space::<Blocks64K>::new(1, 8);
    let bin = Bin::holding(64);
    let mut mutator = Mutator::default();
    let cells: Vec<usize> = (0..100)
        .map(|_| space.alloc(&mut mutator, bin).unwrap())
        .collect();
    space.mark(cells.iter().copied().step_by(2));
    space.release(std::iter::once(&mut mutator));
    for _ in 0..10 {
        space.alloc(&mut mutator, bin).unwrap();
    }
    space.abandon(&mut mutator);
    assert_eq!(mutator.local.take_reused(), 10 * 64);
}

#[test]
fn where_pages_cannot_be_charged_a_larger_cell_serves() {
    let space = Space::<Blocks64K>::new(1, 1);
    let mut mutator = Mutator::default();
    let [small, large] = [Bin::holding(24), Bin::holding(32)];
    let first = space.alloc(&mut mutator, large).unwrap();
    assert_eq!(space.alloc(&mut mutator, small), None);
    assert_eq!(
        space.borrow(&mut mutator, small, 8),
        Some((first + 32, large))
    );
    assert_eq!(
        space.borrow(&mut mutator, Bin::holding(16), 8),
        None,
        "of 24 bytes there is none"
    );
    assert_eq!(
        space.borrow(&mut mutator, Bin::holding(16), 16),
        Some((first + 64, large))
    );
}

#[test]
fn runs_that_a_partial_collection_has_freed_are_found() {
    // Thousands of small objects are too many for Miri.
    let sizes = [2500, 1000, 100, 1].map(|pages| NonZeroUsize::new(pages).unwrap());
    for pages in sizes.into_iter().take(if cfg!(miri) { 2 } else { 4 }) {
        let space = Space::<Blocks64K>::new(8, usize::MAX);
        let mut mutator = Mutator::default();
        let mut fill = || std::iter::from_fn(|| space.alloc_large(&mut mutator, pages)).count();
        let objects = fill();
        assert_eq!(fill(), 0);
        space.release_scope(Scope::Young, std::iter::empty());
        assert_eq!(fill(), objects, "objects of {pages} pages");
    }
}
