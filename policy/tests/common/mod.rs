// SPDX-License-Identifier: MIT OR Apache-2.0
//! An embedder for tests and benchmarks: memory, mark bits, and a limit on charged pages.
// Each test crate that includes this file uses a part of it.
#![allow(dead_code)]

use shardsweep_policy::*;
use std::alloc::{alloc, alloc_zeroed, dealloc, Layout};
use std::num::NonZeroUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::Mutex;

fn clear(bits: &[AtomicU64]) {
    bits.iter().for_each(|word| word.store(0, SeqCst));
}

/// What a thread allocates with.
#[derive(Default)]
pub struct Mutator {
    pub local: Local,
    pub heads: Heads,
}

impl Mutator {
    pub fn view(&self) -> Thread<'_> {
        (&self.local, &self.heads)
    }
}

/// A heap with its memory.
pub struct Space<C: Config> {
    pub heap: Heap<C>,
    pub base: usize,
    pub limit: usize,
    charged: AtomicUsize,
    chunks: usize,
    /// Which chunks the heap has.
    added: Mutex<Vec<bool>>,
    memory: *mut u8,
    /// The mark bits, and as many bits of old objects.
    bits: *mut u64,
}

// SAFETY: the memory is handed out by the heap, and the bits are written while no thread allocates.
unsafe impl<C: Config> Sync for Space<C> {}

impl<C: Config> Space<C> {
    /// Address space for `chunks` chunks, of which `limit` pages may be charged at a time.
    pub fn new(chunks: usize, limit: usize) -> Space<C> {
        Self::with(chunks, limit, Heap::with_old_bits)
    }

    /// The same for a heap with huge pages, of each of which `back` is told, and `collapse` where pages of its place are in use.
    pub fn huge(
        chunks: usize,
        limit: usize,
        back: impl Fn(PageRange) + Send + Sync + 'static,
        collapse: impl Fn(PageRange) -> bool + Send + Sync + 'static,
    ) -> Space<C> {
        Self::with(chunks, limit, |heap, bits| {
            let heap = heap.with_old_bits(bits).with_huge_pages(back);
            heap.with_collapse(collapse)
        })
    }

    /// The same for a heap in which marking can run while threads allocate.
    pub fn concurrent(chunks: usize, limit: usize) -> Space<C> {
        Self::with(chunks, limit, Heap::with_sweep_bits)
    }

    fn with(
        chunks: usize,
        limit: usize,
        with_bits: impl FnOnce(Heap<C>, MarkBits) -> Heap<C>,
    ) -> Space<C> {
        // SAFETY: neither layout is empty.
        let (memory, bits) = unsafe {
            (
                alloc(memory_layout(chunks)),
                alloc_zeroed(bits_layout(chunks)).cast::<u64>(),
            )
        };
        assert!(!memory.is_null() && !bits.is_null());
        let base = memory.expose_provenance();
        // SAFETY: the bits cover the memory, and live as long as the heap.
        let marks = unsafe { MarkBits::new(bits.expose_provenance(), base) };
        // SAFETY: the second half is as long.
        let second = unsafe { MarkBits::new(bits.add(chunks << 13).expose_provenance(), base) };
        let heap = Heap::new(base..base + chunks * CHUNK_BYTES, marks);
        Space {
            heap: with_bits(heap, second),
            base,
            limit,
            charged: AtomicUsize::new(0),
            chunks,
            added: Mutex::new(vec![false; chunks]),
            memory,
            bits,
        }
    }

    pub fn charged(&self) -> usize {
        self.charged.load(SeqCst)
    }

    pub fn uncharge(&self, pages: usize) {
        let before = self.charged.fetch_sub(pages, SeqCst);
        assert!(before >= pages, "more is uncharged than was charged");
    }

    /// Charges as many pages as are wanted, half-way to the limit only the least number. Returns how many.
    fn charge(&self, least: NonZeroUsize, most: NonZeroUsize) -> Option<NonZeroUsize> {
        let wanted = |now: usize| if now < self.limit / 2 { most } else { least };
        let within = |now: usize| Some(now + wanted(now).get()).filter(|&sum| sum <= self.limit);
        let before = self.charged.fetch_update(SeqCst, SeqCst, within);
        before.ok().map(wanted)
    }

    /// Half-way to the limit, threads begin to share.
    fn sharing(&self) -> Sharing {
        if self.charged() < self.limit / 2 {
            Sharing::Exclusive
        } else {
            Sharing::Shared
        }
    }

    /// Adds so many adjacent chunks, the lowest that the heap does not have.
    fn add_chunks(&self, count: usize) -> bool {
        let mut added = self.added.lock().unwrap();
        let Some(first) = added
            .windows(count)
            .position(|window| !window.contains(&true))
        else {
            return false;
        };
        for index in first..first + count {
            added[index] = true;
            // SAFETY: the chunk lies in our memory and was not added before, or was taken out.
            unsafe { self.heap.add_chunk(self.base + index * CHUNK_BYTES) };
        }
        true
    }

    /// Takes out the chunks that are free and clean.
    pub fn remove_chunks(&self) {
        let mut added = self.added.lock().unwrap();
        let chunks: Vec<Chunk> = self.heap.chunks().collect();
        for chunk in chunks {
            let index = (self.heap.chunk_start(chunk) - self.base) / CHUNK_BYTES;
            added[index] = !self.heap.remove_chunk(chunk);
        }
    }

    /// Allocates, or returns nothing where a collector would collect.
    #[inline]
    pub fn alloc(&self, mutator: &mut Mutator, bin: Bin) -> Option<usize> {
        if let Some(cell) = mutator.heads.pop(bin) {
            return Some(cell.get());
        }
        self.alloc_slow(mutator, bin)
    }

    #[inline(never)]
    fn alloc_slow(&self, mutator: &mut Mutator, bin: Bin) -> Option<usize> {
        loop {
            let sharing = self.sharing();
            let refill = mutator
                .local
                .refill(&mut mutator.heads, &self.heap, bin, sharing);
            if let Some(result) = self.supply(mutator, refill) {
                return result;
            }
        }
    }

    /// What an allocator does where it would have to collect: takes a cell of the next larger bin for the alignment.
    pub fn borrow(&self, mutator: &mut Mutator, bin: Bin, align: usize) -> Option<(usize, Bin)> {
        let larger = C::bin(bin.cell_bytes() + 1, align)?;
        let Mutator { local, heads } = mutator;
        let cell = local.borrow(heads, &self.heap, larger, self.sharing())?;
        Some((cell.get(), larger))
    }

    /// Allocates an object of so many pages.
    pub fn alloc_large(&self, mutator: &mut Mutator, pages: NonZeroUsize) -> Option<usize> {
        loop {
            let refill = mutator.local.large(&self.heap, pages);
            if let Some(result) = self.supply(mutator, refill) {
                return result;
            }
        }
    }

    /// Allocates an object of so many bytes, whether it fits a cell or not.
    pub fn alloc_object(&self, mutator: &mut Mutator, bytes: usize) -> Option<usize> {
        match C::bin(bytes, 8) {
            Some(bin) => self.alloc(mutator, bin),
            None => self.alloc_large(mutator, NonZeroUsize::new(bytes.div_ceil(PAGE_BYTES))?),
        }
    }

    /// The result of an allocation; nothing yet if it has been given what it needs.
    fn supply(&self, mutator: &mut Mutator, refill: Refill) -> Option<Option<usize>> {
        match refill {
            Refill::Cell(cell) => return Some(Some(cell.get())),
            Refill::Charge { least, most } => match self.charge(least, most) {
                Some(pages) => mutator.local.credit(pages),
                None => return Some(None),
            },
            Refill::Chunks(count) if self.add_chunks(count) => {}
            Refill::Chunks(_) => return Some(None),
        }
        None
    }

    /// Marks the objects at `live` and no others, in a heap with bits of old objects.
    pub fn mark(&self, live: impl Iterator<Item = usize>) {
        self.clear_marks(true);
        self.mark_more(live);
    }

    fn clear_marks(&self, and_old: bool) {
        let bits = self.mark_bits();
        for chunk in self.heap.chunks() {
            for page in self.heap.forget_marked(chunk) {
                let word = (page - self.base) / 512;
                clear(&bits[word..][..PAGE_BYTES / 512]);
                if and_old {
                    clear(&self.old_bits()[word..][..PAGE_BYTES / 512]);
                }
            }
        }
    }

    /// The pause in which concurrent marking begins.
    pub fn begin_marking<'a>(&self, mutators: impl Iterator<Item = &'a Mutator>) {
        self.clear_marks(false);
        for mutator in mutators {
            mutator.local.mark_free_cells(&mutator.heads, &self.heap);
        }
        self.heap.set_allocates_marked(true);
    }

    /// The beginning of the pause in which it ends.
    pub fn end_marking<'a>(&self, mutators: impl Iterator<Item = &'a Mutator>) {
        for mutator in mutators {
            mutator.local.unmark_free_cells(&mutator.heads, &self.heap);
        }
        self.heap.set_allocates_marked(false);
    }

    fn mark_bits(&self) -> &[AtomicU64] {
        self.bits_from(0)
    }

    /// The bits of old objects, a word for 512 bytes.
    pub fn old_bits(&self) -> &[AtomicU64] {
        self.bits_from(self.chunks << 13)
    }

    /// Both have as many words, the mark bits from the first on.
    fn bits_from(&self, first: usize) -> &[AtomicU64] {
        // SAFETY: they live as long as the space, and are used as atomics alone.
        unsafe { std::slice::from_raw_parts(self.bits.add(first).cast(), self.chunks << 13) }
    }

    /// Marks the objects at `live`, and keeps all marks.
    pub fn mark_more(&self, live: impl Iterator<Item = usize>) {
        let bits = self.mark_bits();
        for cell in live {
            let granule = (cell - self.base) / 8;
            bits[granule / 64].fetch_or(1 << (granule % 64), SeqCst);
            // SAFETY: the heap has handed out the cell.
            unsafe { self.heap.note_marked(cell) };
        }
    }

    /// The end of a collection, after marking.
    pub fn release<'a>(&self, mutators: impl Iterator<Item = &'a mut Mutator>) -> Released {
        self.release_scope(Scope::Full, mutators)
    }

    pub fn release_scope<'a>(
        &self,
        scope: Scope,
        mutators: impl Iterator<Item = &'a mut Mutator>,
    ) -> Released {
        self.heap.begin_release(scope);
        for mutator in mutators {
            self.uncharge(mutator.local.release(&mut mutator.heads));
        }
        let mut sum = Released::default();
        let chunks: Vec<Chunk> = self.heap.chunks().rev().collect();
        for some in chunks.chunks(2) {
            sum += self.heap.release_chunks(some, scope);
        }
        self.uncharge(sum.uncharged_pages);
        sum
    }

    /// Returns pages to the OS after a collection until at most `keep` are dirty.
    pub fn purge(&self, keep: usize, mut returned: impl FnMut(&PageRange)) {
        let release = |ranges: &[PageRange]| ranges.iter().for_each(&mut returned);
        let mut batches = self.heap.purge(release);
        while self.heap.dirty_pages() > keep {
            assert!(batches.next().is_some(), "dirty pages are left over");
        }
    }

    pub fn abandon(&self, mutator: &mut Mutator) {
        let credit = mutator.local.abandon(&mut mutator.heads, &self.heap);
        self.uncharge(credit);
    }

    /// Panics if the marks are not in order.
    pub fn verify_marks<'a>(&self, mutators: impl Iterator<Item = &'a Mutator>) {
        let threads: Vec<_> = mutators.map(Mutator::view).collect();
        if let Err(wrong) = self.heap.verify_marks(&threads) {
            panic!("{wrong}");
        }
    }

    /// Panics if the heap is not in order.
    pub fn verify<'a>(&self, mutators: impl Iterator<Item = &'a Mutator>) {
        let threads: Vec<_> = mutators.map(Mutator::view).collect();
        if let Err(wrong) = self.heap.verify(&threads, self.charged()) {
            panic!("{wrong}");
        }
    }
}

impl<C: Config> Drop for Space<C> {
    fn drop(&mut self) {
        // SAFETY: both were allocated in `new` with these layouts.
        unsafe {
            dealloc(self.memory, memory_layout(self.chunks));
            dealloc(self.bits.cast(), bits_layout(self.chunks));
        }
    }
}

fn memory_layout(chunks: usize) -> Layout {
    Layout::from_size_align(chunks * CHUNK_BYTES, CHUNK_BYTES).unwrap()
}

fn bits_layout(chunks: usize) -> Layout {
    Layout::from_size_align(2 * chunks * CHUNK_BYTES / 64, 8).unwrap()
}

/// A small deterministic source of numbers, for what need not shrink.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % end
    }
}
