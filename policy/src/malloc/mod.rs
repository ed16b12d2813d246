// SPDX-License-Identifier: MIT OR Apache-2.0
//! # The same allocator as a `malloc`
//!
//! Memory that is freed one cell at a time, by any thread, as in mimalloc. With the collector's half of the library it
//! shares the size classes and the bitmaps of pages; neither half calls the other.
//!
//! ```text
//!  thread              Heap                              Block (header in its chunk)
//!  default heap  --->  direct   size -> first block -->    free         handed out from here: load, test, load, store
//!  (one TLS load)      queues   by bin, may have cells     local_free   freed by the owner since
//!                      full     no free cell, or one cell  thread_free  freed by others: ThreadFree
//!                      empty    kept for a while           owner        whose, FULL or not; 0: abandoned
//!                      delayed  first frees by others in   used, capacity, reserved
//!                               blocks of the full list
//!
//!  Arena: chunks of 4 MiB; a block is a run of a chunk's pages, claimed in a bitmap; cells above 64 KiB are a block each;
//!         cells that no chunk holds are a mapping each.
//! ```
//!
//! What is freed goes to another list than the one that cells are handed out from. So that list ends after a bounded
//! number of allocations, and [`Heap`]'s generic path does then what need not be done each time: it calls the
//! deferred-free hook, takes the lists of other threads, releases empty blocks, and returns pages to the OS.
//!
//! No step takes a lock, and three may wait for another thread: the end of a heap, for one that has freed the first cell of a full block
//! and is about to put it into the heap; [`set_deferred_free`], for one that is setting the hook; and the beginning of a thread's
//! default heap, for one that is making the key by which the C library calls at the end of a thread.
//!
//! | file | idea |
//! |---|---|
//! | `crate::thread_free` | lists that several threads use, and the states of a block |
//! | `cell`, `block`, `queue` | the link in a free cell; the lists of a block; the blocks of a bin |
//! | `chunk`, `arena` | from address to block; from pages to blocks |
//! | `heap`, `release`, `large` | allocation; the way back; cells that are a block |
//! | `deferred_free` | the program's own part of the generic path |
//! | `secure` | what the Cargo feature of this name adds |
//! | `thread`, `abandoned`, `heaps` | a thread's heap; blocks without a thread; more heaps than one |
//! | `api`, `options`, `statistics` | what an embedder uses |
//! | `shown` | what the statistics read of other threads' blocks |

mod abandoned;
mod api;
mod arena;
mod block;
mod cell;
mod chunk;
mod deferred_free;
mod heap;
pub mod heaps;
mod large;
pub mod options;
mod os;
mod queue;
mod release;
mod secure;
mod shown;
mod sizes;
pub mod statistics;
mod thread;

pub use api::{
    aligned_alloc, aligned_calloc, aligned_realloc, calloc, free, heap_aligned_alloc, heap_calloc,
    heap_malloc, malloc, malloc_at_once, realloc, usable_size,
};
pub use deferred_free::{set_deferred_free, DeferredFree};
pub use heap::Heap;
pub use thread::start_process;
