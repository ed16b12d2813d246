// SPDX-License-Identifier: MIT OR Apache-2.0
//! The default heap of the calling thread: where it is found, how it begins, and what becomes of it.

use super::abandoned;
use super::arena::ARENA;
use super::heap::{Heap, EMPTY_HEAP};
use super::os;
use super::secure::{self, GUARD_PAGES};
use crate::config::PAGE_BYTES;
use crate::spare::Spare;
use std::ptr::with_exposed_provenance_mut;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Where a thread keeps the address of its default heap. In assembly, as stable Rust cannot choose the TLS model: the
/// initial-exec one is a load without a call, and allocates nothing. At first it is the empty heap.
#[cfg(not(miri))]
mod slot {
    use super::*;

    std::arch::global_asm!(
        ".pushsection .tdata.shardsweep_default_heap,\"awT\",@progbits",
        ".globl shardsweep_default_heap",
        ".hidden shardsweep_default_heap",
        ".type shardsweep_default_heap,@object",
        ".size shardsweep_default_heap,8",
        ".p2align 3",
        "shardsweep_default_heap:",
        ".quad {empty}",
        ".popsection",
        empty = sym EMPTY_HEAP,
    );

    #[inline(always)]
    pub fn get() -> *const Heap {
        let heap;
        // SAFETY: it loads the thread's slot and changes nothing.
        unsafe {
            std::arch::asm!(
                "mov {heap}, qword ptr [rip + shardsweep_default_heap@GOTTPOFF]",
                "mov {heap}, qword ptr fs:[{heap}]",
                heap = out(reg) heap,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        heap
    }

    pub fn set(heap: *const Heap) {
        // SAFETY: it stores into the thread's slot.
        unsafe {
            std::arch::asm!(
                "mov {slot}, qword ptr [rip + shardsweep_default_heap@GOTTPOFF]",
                "mov qword ptr fs:[{slot}], {heap}",
                slot = out(reg) _,
                heap = in(reg) heap,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// As above, for an interpreter that knows no assembly.
#[cfg(miri)]
mod slot {
    use super::*;

    thread_local!(static SLOT: std::cell::Cell<*const Heap> = const { std::cell::Cell::new(&raw const EMPTY_HEAP) });

    pub fn get() -> *const Heap {
        SLOT.get()
    }

    pub fn set(heap: *const Heap) {
        SLOT.set(heap);
    }
}

/// The default heap of the calling thread: the empty one before its first allocation, and after its end.
#[inline(always)]
pub(crate) fn default_heap() -> *const Heap {
    slot::get()
}

/// `heap`, or if that is the empty heap, the calling thread's, which may begin here. None if the OS has no memory.
pub(crate) fn heap_or_start(heap: &Heap) -> Option<&Heap> {
    if !std::ptr::eq(heap, &raw const EMPTY_HEAP) {
        return Some(heap);
    }
    start()
}

/// The default heap of the calling thread, which may begin here. None if the OS has no memory.
pub(crate) fn current() -> Option<&'static Heap> {
    // SAFETY: a default heap stays while its thread runs.
    heap_or_start(unsafe { &*default_heap() })
}

#[cold]
fn start() -> Option<&'static Heap> {
    let heap = new_heap()?;
    heap.belong_to(heap);
    // The key's functions allocate: from here on, they have a heap.
    slot::set(heap);
    if std::ptr::eq(exit_key::get(), &raw const EMPTY_HEAP) {
        // The thread had one, which has ended.
        heap.ends_put_off.set(PUT_OFF);
    } else {
        ARENA.counters.threads.fetch_add(1, Relaxed);
    }
    exit_key::set(heap);
    Some(heap)
}

const HEAP_BYTES: usize =
    std::mem::size_of::<Heap>().next_multiple_of(PAGE_BYTES) + 2 * GUARD_BYTES;
/// Before and after a heap.
const GUARD_BYTES: usize = GUARD_PAGES * PAGE_BYTES;

/// Heaps that are nobody's, for the next ones, where threads come and go.
static SPARE: Spare<16> = Spare::new();

/// An empty heap of no thread yet, in pages of its own.
pub(crate) fn new_heap() -> Option<&'static Heap> {
    let heap = SPARE.take().or_else(map_heap)?;
    let heap = with_exposed_provenance_mut::<Heap>(heap);
    // SAFETY: the pages are mapped, and nobody else's until `free_heap`.
    unsafe {
        heap.write(Heap::EMPTY);
        Some(&*heap)
    }
}

fn map_heap() -> Option<usize> {
    let start = ARENA.map(HEAP_BYTES, PAGE_BYTES)?;
    secure::guard(start + GUARD_BYTES);
    secure::guard(start + HEAP_BYTES);
    Some(start + GUARD_BYTES)
}

/// Keeps a heap that has no blocks for another thread, or unmaps it.
pub(crate) fn free_heap(heap: &'static Heap) {
    let heap = std::ptr::from_ref(heap).addr();
    if !SPARE.put(heap) {
        os::unmap(heap - GUARD_BYTES, HEAP_BYTES);
    }
}

/// The heaps of the thread with this default heap, that one last.
pub(crate) fn heaps(default: &'static Heap) -> impl Iterator<Item = &'static Heap> {
    let mut at = default.next.get();
    let others = std::iter::from_fn(move || {
        // SAFETY: the list is of heaps that the thread has made and not freed.
        let heap = unsafe { at.as_ref() }?;
        at = heap.next.get();
        Some(heap)
    });
    others.chain(std::iter::once(default))
}

/// How often the end of a thread's heaps is put off. The C library calls destructors of keys in four rounds at most, and those
/// of the program, in the first, use the heaps. A first heap that begins in one of the first two still ends; a later
/// one also in the third.
const PUT_OFF: u8 = 1;

/// The thread ends: its blocks become those of whoever wants them.
extern "C" fn end(heap: *mut libc::c_void) {
    let heap = heap.cast_const().cast::<Heap>();
    if std::ptr::eq(heap, &raw const EMPTY_HEAP) {
        // The C library has forgotten it. It ends after some rounds; Miri, when nothing is set. ThreadSanitizer's own last round is
        // before ours, after which no code of the thread may run.
        if !cfg!(any(miri, tsan)) {
            exit_key::set(&EMPTY_HEAP);
        }
        return;
    }
    // SAFETY: it is the thread's.
    let heap = unsafe { &*heap };
    let put_off = heap.ends_put_off.get();
    if put_off < PUT_OFF {
        heap.ends_put_off.set(put_off + 1);
        exit_key::set(heap);
        return;
    }
    slot::set(&raw const EMPTY_HEAP);
    // A heap that begins after this ends in the next round.
    exit_key::set(&EMPTY_HEAP);
    for heap in heaps(heap) {
        heap.leave_blocks(abandoned::abandon);
        free_heap(heap);
    }
}

/// The key by which the C library calls [`end`].
mod exit_key {
    use super::*;

    const NONE: u64 = 0;
    const BUSY: u64 = 1;
    /// The key is added to this.
    const MADE: u64 = 2;
    static KEY: AtomicU64 = AtomicU64::new(NONE);

    fn key() -> Option<libc::pthread_key_t> {
        loop {
            let state = KEY.load(Acquire);
            if state >= MADE {
                return Some((state - MADE) as libc::pthread_key_t);
            }
            if state == NONE && KEY.compare_exchange(NONE, BUSY, AcqRel, Relaxed).is_ok() {
                let mut key = 0;
                // SAFETY: it writes the key.
                let made = unsafe { libc::pthread_key_create(&mut key, Some(end)) } == 0;
                KEY.store(if made { MADE + key as u64 } else { NONE }, Release);
                return made.then_some(key);
            }
            std::thread::yield_now();
        }
    }

    /// Makes the key, if that is still to be done.
    pub fn make() {
        key();
    }

    /// What the thread has set, or null.
    pub fn get() -> *const Heap {
        key().map_or(std::ptr::null(), |key| {
            // SAFETY: the key was made.
            let heap = unsafe { libc::pthread_getspecific(key) };
            heap.cast_const().cast()
        })
    }

    pub fn set(heap: &Heap) {
        if let Some(key) = key() {
            // SAFETY: the key was made.
            unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(heap).cast()) };
        }
    }
}

/// In the child of a fork, which has the thread that called alone: threads that were delaying a free in one of its blocks
/// are not there to end it. What the others owned stays as it was. Registered by [`start_process`].
extern "C" fn after_fork() {
    super::deferred_free::forget_change();
    ARENA.forget_holders();
    let heap = default_heap();
    if std::ptr::eq(heap, &raw const EMPTY_HEAP) {
        return;
    }
    // SAFETY: a default heap stays while its thread runs.
    for heap in heaps(unsafe { &*heap }) {
        heap.numbers.forget();
        let blocks = heap.blocks();
        blocks.for_each(|block| block.thread_free.forget_delaying());
    }
}

/// What is to be done once, before `main`: reads the options from the environment, prepares for forks and the ends of threads,
/// and has statistics printed at the end if that is an option.
pub fn start_process() {
    super::options::read_environment();
    // A fork while another thread makes it would leave the child without.
    exit_key::make();
    // SAFETY: these functions may be called at any time.
    unsafe {
        libc::pthread_atfork(None, None, Some(after_fork));
        if super::options::get(super::options::Option::ShowStats) != 0 {
            libc::atexit(show_statistics);
        }
    }
}

extern "C" fn show_statistics() {
    super::statistics::print();
}
