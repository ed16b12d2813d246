// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interleavings of threads that hand blocks to each other: every one, or where a model has a `preemption_bound`, those with no more
//! preemptions. To be run by
//! `RUSTFLAGS="--cfg loom" cargo test --test loom`; with `--release` in seconds.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, Ordering::SeqCst};
use loom::sync::Arc;
use loom::thread;
use shardsweep_policy::pages::{runs, Claimed, Pages, Source, Wanted};
use shardsweep_policy::stack::{Chain, Link, Links, Stack, NONE};
use shardsweep_policy::sync::AtomicU32;
use shardsweep_policy::*;
use std::sync::{OnceLock, PoisonError};

/// Blocks with a content that only their owner may touch: loom fails on any race.
struct Table {
    links: Vec<AtomicU32>,
    contents: Vec<UnsafeCell<u32>>,
    stack: Stack,
}

impl Links for Table {
    fn link(&self, link: Link) -> &AtomicU32 {
        &self.links[link as usize - 1]
    }
}

impl Table {
    /// A stack of `count` blocks, block 1 on top.
    fn new(count: u32) -> Arc<Table> {
        let table = Table {
            links: (0..count).map(|_| AtomicU32::new(NONE)).collect(),
            contents: (0..count).map(|_| UnsafeCell::new(0)).collect(),
            stack: Stack::default(),
        };
        (1..=count).rev().for_each(|block| table.push(&[block]));
        Arc::new(table)
    }

    fn push(&self, blocks: &[Link]) {
        let mut chain = Chain::default();
        for &block in blocks {
            // SAFETY: the block is the caller's until it is pushed; loom checks that.
            self.contents[block as usize - 1].with_mut(|content| unsafe { *content += 1 });
            chain.push(self, block);
        }
        self.stack.push(self, chain);
    }

    fn pop(&self) -> Option<Link> {
        let block = self.stack.pop(self)?;
        // SAFETY: the block is ours once it is popped; loom checks that.
        self.contents[block as usize - 1].with_mut(|content| unsafe { *content += 1 });
        Some(block)
    }

    fn assert_left(&self, expected: &[Link]) {
        let mut left: Vec<_> = self.stack.iter(self).collect();
        left.sort_unstable();
        assert_eq!(left, expected);
    }
}

#[test]
fn a_block_is_popped_once() {
    loom::model(|| {
        let table = Table::new(2);
        let other = Arc::clone(&table);
        let thread = thread::spawn(move || other.pop());
        let mine = table.pop();
        let theirs = thread.join().unwrap();
        assert!(mine.is_some() && theirs.is_some() && mine != theirs);
        table.assert_left(&[]);
    });
}

#[test]
fn pushes_from_two_threads_are_kept() {
    loom::model(|| {
        let table = Table::new(3);
        let blocks: Vec<_> = (0..3).map(|_| table.pop().unwrap()).collect();
        let (first, second) = (blocks[0], [blocks[1], blocks[2]]);
        let other = Arc::clone(&table);
        let thread = thread::spawn(move || other.push(&[first]));
        table.push(&second);
        thread.join().unwrap();
        table.assert_left(&[1, 2, 3]);
    });
}

/// One thread is about to replace top block 1 by block 2, when another one takes both and puts 1 back.
#[test]
fn a_top_that_went_and_came_back_is_noticed() {
    loom::model(|| {
        let table = Table::new(3);
        let other = Arc::clone(&table);
        let thread = thread::spawn(move || {
            let (first, second) = (other.pop().unwrap(), other.pop());
            other.push(&[first]);
            second
        });
        let mine = table.pop().unwrap();
        let theirs = thread.join().unwrap();
        assert_ne!(Some(mine), theirs);
        let mut all: Vec<_> = table.stack.iter(&*table).chain(theirs).collect();
        all.push(mine);
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3]);
    });
}

#[test]
fn three_threads_pop_and_push() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let table = Table::new(2);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let table = Arc::clone(&table);
                thread::spawn(move || {
                    if let Some(block) = table.pop() {
                        table.push(&[block]);
                    }
                })
            })
            .collect();
        if let Some(block) = table.pop() {
            table.push(&[block]);
        }
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        table.assert_left(&[1, 2]);
    });
}

/// Chunks are small under loom: 64 pages, of which a block has at most 4.
type C = Blocks<14, false>;
const CHUNK_PAGES: usize = CHUNK_BYTES / PAGE_BYTES;

fn wanted(pages: usize) -> Wanted {
    Wanted {
        least: pages,
        most: pages,
        align: 1,
    }
}

/// The pages that were claimed, and those that are free, in order: each once if each has one owner.
fn all_of<const N: usize>(pages: &Pages, claimed: [Option<Claimed>; N]) -> Vec<usize> {
    let claimed = claimed.into_iter().flatten().flat_map(|run| run.pages);
    let mut all: Vec<usize> = claimed.chain(runs(&pages.free_pages()).flatten()).collect();
    all.sort_unstable();
    all
}

/// Two threads claim runs that overlap, of which one fits twice: each page has one owner.
#[test]
fn a_page_is_claimed_once() {
    loom::model(|| {
        let pages = Arc::new(Pages::default());
        pages.give(0..5, false);
        let other = Arc::clone(&pages);
        let thread = thread::spawn(move || other.claim(Source::Any, wanted(2)));
        let mine = pages.claim(Source::Any, wanted(3));
        let theirs = thread.join().unwrap();
        assert_eq!(all_of(&pages, [mine, theirs]), [0, 1, 2, 3, 4]);
    });
}

/// A run is given back while another thread searches: what it claims is whole, and none is lost.
#[test]
fn a_run_that_comes_back_is_claimed_or_left() {
    loom::model(|| {
        let pages = Arc::new(Pages::default());
        pages.give(2..4, false);
        let other = Arc::clone(&pages);
        let thread = thread::spawn(move || other.give(0..2, true));
        let claimed = pages.claim(Source::Any, wanted(3));
        thread.join().unwrap();
        if let Some(run) = &claimed {
            assert!(run.pages == (0..3) && run.dirty == 2);
        }
        assert_eq!(all_of(&pages, [claimed]), [0, 1, 2, 3]);
    });
}

/// A batch goes back to the OS while a thread takes pages: none has both.
#[test]
fn a_page_is_purged_or_claimed() {
    loom::model(|| {
        let pages = Arc::new(Pages::default());
        pages.give(0..3, true);
        let held = Arc::new(AtomicBool::new(false));
        let (other, their_hold) = (Arc::clone(&pages), Arc::clone(&held));
        let thread = thread::spawn(move || {
            if other.claim_exactly(1..3).is_some() {
                assert!(!their_hold.swap(true, SeqCst), "two have page 1");
                their_hold.store(false, SeqCst);
                other.give(1..3, false);
            }
        });
        if let Some(run) = pages.claim(Source::Any, wanted(2)) {
            if run.pages.contains(&1) {
                assert!(!held.swap(true, SeqCst), "two have page 1");
                held.store(false, SeqCst);
            }
        }
        thread.join().unwrap();
    });
}

/// Memory for one chunk and its mark bits, none of them set. Shared by all tests, one at a time.
fn memory() -> (usize, usize, std::sync::MutexGuard<'static, ()>) {
    static MEMORY: OnceLock<(usize, usize)> = OnceLock::new();
    static BUSY: std::sync::Mutex<()> = std::sync::Mutex::new(());
    // A test that failed is no reason for the next one to fail.
    let guard = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
    let &(chunk, bits) = MEMORY.get_or_init(|| {
        let allocate = |bytes, align| {
            let layout = std::alloc::Layout::from_size_align(bytes, align).unwrap();
            // SAFETY: the layout is not empty.
            unsafe { std::alloc::alloc_zeroed(layout) }.expose_provenance()
        };
        (
            allocate(CHUNK_BYTES, CHUNK_BYTES),
            allocate(CHUNK_BYTES / 64, 8),
        )
    });
    (chunk, bits, guard)
}

struct Mutator {
    local: Local,
    heads: Heads,
    sharing: Sharing,
}

impl Default for Mutator {
    fn default() -> Self {
        Mutator {
            local: Local::default(),
            heads: Heads::default(),
            sharing: Sharing::Exclusive,
        }
    }
}

impl Mutator {
    /// Boxed, as loom's threads have small stacks.
    fn boxed() -> Box<Mutator> {
        Box::default()
    }

    /// Allocates with a heap that can always be charged, and counts what is charged.
    fn alloc(&mut self, heap: &Heap<C>, bin: Bin, charged: &mut usize) -> usize {
        let cell = self.try_alloc(heap, bin, charged);
        cell.expect("a chunk has pages for all")
    }

    /// The same where others may have all pages.
    fn try_alloc(&mut self, heap: &Heap<C>, bin: Bin, charged: &mut usize) -> Option<usize> {
        if let Some(cell) = self.heads.pop(bin) {
            return Some(cell.get());
        }
        loop {
            match self.local.refill(&mut self.heads, heap, bin, self.sharing) {
                Refill::Cell(cell) => return Some(cell.get()),
                Refill::Charge { least, .. } => {
                    *charged += least.get();
                    self.local.credit(least);
                }
                Refill::Chunks(_) => return None,
            }
        }
    }

    fn view(&self) -> Thread<'_> {
        (&self.local, &self.heads)
    }
}

/// A model in which `Heap::verify`, which looks at the whole heap, stays below loom's limit for endless loops.
fn heap_model() -> loom::model::Builder {
    let mut model = loom::model::Builder::new();
    model.max_branches = 10_000;
    model
}

fn with_heap(check: impl Fn(Arc<Heap<C>>) + Send + Sync + 'static) {
    with_heap_as(|heap| heap, check);
}

/// The same with a heap that `make` has had in its hands, before it has memory.
fn with_heap_as(
    make: impl Fn(Heap<C>) -> Heap<C> + Send + Sync + 'static,
    check: impl Fn(Arc<Heap<C>>) + Send + Sync + 'static,
) {
    let (chunk, bits, _guard) = memory();
    let mut model = heap_model();
    model.preemption_bound = Some(2);
    model.check(move || {
        // SAFETY: the bits cover the chunk and are never freed; the guard keeps other tests away.
        let marks = unsafe { MarkBits::new(bits, chunk) };
        let heap = make(Heap::new(chunk..chunk + CHUNK_BYTES, marks));
        // SAFETY: as above, for the chunk.
        unsafe { heap.add_chunk(chunk) };
        check(Arc::new(heap));
    });
}

#[test]
fn threads_take_different_fresh_blocks() {
    with_heap(|heap| {
        let bin = Bin::holding(1024);
        let work = move |heap: &Heap<C>| {
            let (mut mutator, mut charged) = (Mutator::boxed(), 0);
            (mutator.alloc(heap, bin, &mut charged), mutator, charged)
        };
        let theirs = thread::spawn({
            let heap = Arc::clone(&heap);
            move || work(&heap)
        });
        let (my_cell, mine, my_charge) = work(&heap);
        let (their_cell, theirs, their_charge) = theirs.join().unwrap();
        assert_ne!(my_cell / PAGE_BYTES, their_cell / PAGE_BYTES);
        heap.verify(&[mine.view(), theirs.view()], my_charge + their_charge)
            .unwrap();
    });
}

/// Of two threads that need memory one makes a huge page; the other gets a page of it, or finds nothing while it is made.
#[test]
fn a_huge_page_is_made_while_nobody_has_a_page_of_it() {
    let made = std::sync::atomic::AtomicUsize::new(0);
    let made: &_ = Box::leak(Box::new(made));
    let is_used = std::sync::atomic::AtomicBool::new(false);
    let is_used: &_ = Box::leak(Box::new(is_used));
    let back = move |place: PageRange| {
        assert_eq!(place.pages * PAGE_BYTES, HUGE_PAGE_BYTES);
        made.fetch_add(1, SeqCst);
        assert!(!is_used.load(SeqCst), "what a page of it holds would go");
        thread::yield_now();
        assert!(!is_used.load(SeqCst), "what a page of it holds would go");
    };
    with_heap_as(
        move |heap| heap.with_huge_pages(back),
        move |heap| {
            made.store(0, SeqCst);
            is_used.store(false, SeqCst);
            let bin = Bin::holding(1024);
            let mut theirs = Mutator::boxed();
            let other = Arc::clone(&heap);
            let thread = thread::spawn(move || {
                let mut charged = 0;
                let cell = theirs.try_alloc(&other, bin, &mut charged);
                is_used.fetch_or(cell.is_some(), SeqCst);
                (cell, theirs, charged)
            });
            let (mut mine, mut charged) = (Mutator::boxed(), 0);
            let my_cell = mine.try_alloc(&heap, bin, &mut charged);
            is_used.fetch_or(my_cell.is_some(), SeqCst);
            let (their_cell, theirs, their_charge) = thread.join().unwrap();
            let page = |cell: Option<usize>| cell.map(|cell| cell / PAGE_BYTES);
            assert_ne!(
                page(my_cell),
                page(their_cell),
                "two have a page, or nobody has"
            );
            // A thread that has seen the place before the other made it so makes it so again, which changes nothing.
            assert_ne!(made.load(SeqCst), 0);
            heap.verify(&[mine.view(), theirs.view()], charged + their_charge)
                .unwrap();
        },
    );
}

/// A thread makes a huge page in a place of which others return pages, or claim some: what the OS holds afterwards is charged, or known
/// to be dirty.
fn collapse_beside(
    other: impl Fn(&Heap<C>, &dyn Fn(&Heap<C>)) -> (Box<Mutator>, usize) + Copy + Send + Sync + 'static,
) {
    use std::sync::atomic::AtomicBool;
    const PAGES: usize = HUGE_PAGE_BYTES / PAGE_BYTES;
    let resident: &[AtomicBool] = Box::leak((0..PAGES).map(|_| AtomicBool::new(false)).collect());
    let set = move |range: PageRange, held: bool| {
        let first = range.start % HUGE_PAGE_BYTES / PAGE_BYTES;
        let pages = &resident[first..first + range.pages];
        pages.iter().for_each(|page| page.store(held, SeqCst));
    };
    let collapse = move |place| {
        thread::yield_now();
        set(place, true);
        true
    };
    let purge = move |heap: &Heap<C>| {
        let release = |ranges: &[PageRange]| ranges.iter().for_each(|&range| set(range, false));
        heap.purge(release).for_each(drop);
    };
    with_heap_as(
        move |heap| {
            let heap = heap.with_huge_pages(move |place| set(place, true));
            heap.with_collapse(collapse)
        },
        move |heap| {
            let (mut mine, mut charged) = (Mutator::boxed(), 0);
            let _ = mine.alloc(&heap, Bin::holding(1024), &mut charged);
            purge(&heap);
            let others = Arc::clone(&heap);
            let thread = thread::spawn(move || other(&others, &purge));
            let _ = mine.try_alloc(&heap, Bin::holding(2048), &mut charged);
            let (mut theirs, their_charge) = thread.join().unwrap();
            charged += their_charge;
            // What is not open goes back.
            for mutator in [&mut *mine, &mut *theirs] {
                charged -= mutator.local.abandon(&mut mutator.heads, &heap);
            }
            let held = resident.iter().filter(|page| page.load(SeqCst)).count();
            assert!(held <= charged + heap.dirty_pages());
            heap.verify(&[mine.view(), theirs.view()], charged).unwrap();
        },
    );
}

#[test]
fn what_a_collapse_makes_resident_while_pages_go_back_is_known() {
    collapse_beside(|heap, purge| {
        purge(heap);
        (Mutator::boxed(), 0)
    });
}

#[test]
fn what_a_collapse_makes_resident_while_another_thread_claims_is_known() {
    collapse_beside(|heap, _| {
        let (mut theirs, mut charged) = (Mutator::boxed(), 0);
        let _ = theirs.try_alloc(heap, Bin::holding(512), &mut charged);
        (theirs, charged)
    });
}

/// Threads that share a page get different cells of it.
#[test]
fn a_shared_block_hands_out_each_cell_once() {
    with_heap(|heap| {
        let bin = Bin::holding(1024);
        let mutator = || {
            let mut mutator = Mutator::boxed();
            mutator.sharing = Sharing::Shared;
            mutator
        };
        let (mut first, mut charged) = (mutator(), 0);
        let before = first.alloc(&heap, bin, &mut charged);
        let theirs = thread::spawn({
            let heap = Arc::clone(&heap);
            move || {
                let (mut other, mut charged) = (mutator(), 0);
                (other.alloc(&heap, bin, &mut charged), other, charged)
            }
        });
        let mine = first.alloc(&heap, bin, &mut charged);
        let (their_cell, other, their_charge) = theirs.join().unwrap();
        assert!(before != mine && before != their_cell && mine != their_cell);
        heap.verify(&[first.view(), other.view()], charged + their_charge)
            .unwrap();
    });
}

/// Two threads abandon a block each while one of them adopts: it gets one of them, or a fresh one.
#[test]
fn abandoned_blocks_are_adopted_by_one() {
    with_heap(|heap| {
        let bin = Bin::holding(1024);
        let mut charged = 0;
        let (mut first, mut second) = (Mutator::boxed(), Mutator::boxed());
        let given = [&mut first, &mut second].map(|giver| giver.alloc(&heap, bin, &mut charged));
        let other = Arc::clone(&heap);
        let thread = thread::spawn(move || {
            assert_eq!(second.local.abandon(&mut second.heads, &other), 0);
            let (mut adopter, mut charged) = (Mutator::boxed(), 0);
            let cell = adopter.alloc(&other, bin, &mut charged);
            (cell, adopter, charged)
        });
        assert_eq!(first.local.abandon(&mut first.heads, &heap), 0);
        let mine = first.alloc(&heap, bin, &mut charged);
        let (theirs, other, their_charge) = thread.join().unwrap();
        assert_ne!(mine / PAGE_BYTES, theirs / PAGE_BYTES);
        assert!(!given.contains(&mine) && !given.contains(&theirs));
        heap.verify(&[first.view(), other.view()], charged + their_charge)
            .unwrap();
    });
}

/// Pages go back to the OS while a thread opens one of them: it is not returned once it is open.
#[test]
fn a_page_that_is_opened_is_not_returned() {
    with_heap(|heap| {
        let bin = Bin::holding(1024);
        let mut mutator = Mutator::boxed();
        let mut charged = 0;
        mutator.alloc(&heap, bin, &mut charged);
        // Nothing is marked: the page becomes free, and stays with the OS.
        heap.begin_release(Scope::Full);
        assert_eq!(mutator.local.release(&mut mutator.heads), 0);
        heap.release_chunks(&heap.chunks().collect::<Vec<_>>(), Scope::Full);
        assert_eq!(heap.dirty_pages(), 1);
        let open = Arc::new(AtomicBool::new(false));
        let purger = thread::spawn({
            let (heap, open) = (Arc::clone(&heap), Arc::clone(&open));
            move || {
                let release = |ranges: &[PageRange]| {
                    assert_eq!((ranges.len(), ranges[0].pages), (1, 1));
                    assert!(!open.load(SeqCst), "an open page is on its way to the OS");
                    assert!(!open.load(SeqCst), "a page was opened on its way to the OS");
                };
                heap.purge(release).for_each(drop)
            }
        });
        let (mut charged, mut mutator) = (0, Mutator::boxed());
        let cell = mutator.alloc(&heap, bin, &mut charged);
        open.store(cell % CHUNK_BYTES < PAGE_BYTES, SeqCst);
        purger.join().unwrap();
        heap.verify(&[mutator.view()], charged).unwrap();
        assert_eq!(heap.statistics().free_pages, CHUNK_PAGES - 1);
    });
}

/// A chunk that one thread adds serves another, also while the first one is not done.
#[test]
fn an_added_chunk_is_seen_whole() {
    static SEEN: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
    let (chunk, bits, _guard) = memory();
    heap_model().check(move || {
        // SAFETY: the bits cover the chunk and are never freed; the guard keeps other tests away.
        let marks = unsafe { MarkBits::new(bits, chunk) };
        let heap = Arc::new(Heap::<C>::new(chunk..chunk + CHUNK_BYTES, marks));
        let other = Arc::clone(&heap);
        let thread = thread::spawn(move || {
            // SAFETY: as above, for the chunk.
            unsafe { other.add_chunk(chunk) };
        });
        let mut mutator = Mutator::default();
        let refill = |mutator: &mut Mutator| {
            let (local, heads) = (&mut mutator.local, &mut mutator.heads);
            let refill = local.refill(heads, &heap, Bin::holding(64), Sharing::Exclusive);
            assert!(matches!(refill, Refill::Chunks(1) | Refill::Charge { .. }));
            matches!(refill, Refill::Charge { .. })
        };
        let early = refill(&mut mutator);
        SEEN.fetch_or(early, SeqCst);
        thread.join().unwrap();
        // A search that has met the chunk before its pages were free passes it by until a collection.
        let late = refill(&mut mutator);
        assert!(late || !early);
        heap.begin_release(Scope::Full);
        mutator.local.release(&mut mutator.heads);
        heap.release_chunks(&heap.chunks().collect::<Vec<_>>(), Scope::Full);
        assert!(refill(&mut mutator));
        heap.verify(&[mutator.view()], 0).unwrap();
    });
    assert!(
        SEEN.load(SeqCst),
        "no interleaving has the chunk seen early"
    );
}
