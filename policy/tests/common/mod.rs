// SPDX-License-Identifier: MIT OR Apache-2.0
//! An embedder for tests and benchmarks: memory, mark bits, and a limit on charged pages.
// Each test crate that includes this file uses a part of it.
#![allow(dead_code)]

use shardsweep_policy::*;
use std::alloc::{alloc, alloc_zeroed, dealloc, Layout};
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// What a thread allocates with.
pub struct Mutator {
    pub local: Local,
    pub heads: Heads,
}

impl Mutator {
    pub fn new(owner: u32) -> Mutator {
        Mutator {
            local: Local::new(owner),
            heads: Heads::default(),
        }
    }

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
    added: AtomicUsize,
    memory: *mut u8,
    bits: *mut u64,
}

// SAFETY: the memory is handed out by the heap, and the bits are written while no thread allocates.
unsafe impl<C: Config> Sync for Space<C> {}

impl<C: Config> Space<C> {
    /// Address space for `chunks` chunks, of which `limit` pages may be charged at a time.
    pub fn new(chunks: usize, limit: usize) -> Space<C> {
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
        Space {
            heap: Heap::new(base..base + chunks * CHUNK_BYTES, marks),
            base,
            limit,
            charged: AtomicUsize::new(0),
            chunks,
            added: AtomicUsize::new(0),
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

    fn charge(&self, pages: NonZeroUsize) -> bool {
        let within = |now: usize| Some(now + pages.get()).filter(|&sum| sum <= self.limit);
        self.charged.fetch_update(SeqCst, SeqCst, within).is_ok()
    }

    fn add_chunk(&self) -> bool {
        let index = self.added.fetch_add(1, SeqCst);
        if index >= self.chunks {
            return false;
        }
        // SAFETY: the chunk lies in our memory and was not added before.
        unsafe { self.heap.add_chunk(self.base + index * CHUNK_BYTES) };
        true
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
            match mutator.local.refill(&mut mutator.heads, &self.heap, bin) {
                Refill::Cell(cell) => return Some(cell.get()),
                Refill::Charge(pages) if self.charge(pages) => mutator.local.credit(pages),
                Refill::Chunk if self.add_chunk() => {}
                Refill::Charge(_) | Refill::Chunk => return None,
            }
        }
    }

    /// Marks the objects at `live` and no others.
    pub fn mark(&self, live: impl Iterator<Item = usize>) {
        // SAFETY: nobody else uses the bits now.
        let bits = unsafe { std::slice::from_raw_parts_mut(self.bits, self.chunks << 13) };
        for chunk in self.heap.chunks() {
            for block in self.heap.forget_marked(chunk) {
                bits[(block - self.base) / 512..][..C::BLOCK_BYTES / 512].fill(0);
            }
        }
        for cell in live {
            let granule = (cell - self.base) / 8;
            bits[granule / 64] |= 1 << (granule % 64);
            // SAFETY: the heap has handed out the cell.
            unsafe { self.heap.note_marked(cell) };
        }
    }

    /// The end of a collection, after marking.
    pub fn release<'a>(&self, mutators: impl Iterator<Item = &'a mut Mutator>) -> Released {
        self.heap.begin_release();
        for mutator in mutators {
            self.uncharge(mutator.local.release(&mut mutator.heads));
        }
        let mut sum = Released::default();
        for chunk in self.heap.chunks().rev() {
            sum += self.heap.release_chunk(chunk);
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

    pub fn give_up(&self, mutator: &mut Mutator) {
        let credit = mutator.local.give_up(&mut mutator.heads, &self.heap);
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
    Layout::from_size_align(chunks * CHUNK_BYTES / 64, 8).unwrap()
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
