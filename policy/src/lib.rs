// SPDX-License-Identifier: MIT OR Apache-2.0
//! # The Shardsweep allocator
//!
//! The allocator of a mark-sweep heap as a library: free-list sharding as in mimalloc (D. Leijen,
//! B. Zorn, L. de Moura, "Mimalloc: Free List Sharding in Action", APLAS 2019), with blocks of 4 to
//! 256 KiB and memory accounted in OS pages. It knows of no virtual machine: an embedder gives it address
//! space and mark bits, charges pages to its heap, decides when to collect, and marks.
//!
//! ## Words
//!
//! A *cell* holds one object. A *block* holds cells of one size class, its *bin*. A *page* is always
//! an OS page of 4 KiB. A *run* is a number of adjacent pages. A *chunk* is 4 MiB of address space, the unit in which
//! the heap grows. An object above the largest cell is a *large object*.
//!
//! The *block size* of a build is the length of its longest block of cells up to 8 KiB, and the most that a cell may have. Where pages
//! are charged, larger cells have blocks up to four times as long, of 64 pages at most.
//!
//! ## The data structure
//!
//! ```text
//!  thread                                                  shared
//!  Heads   by bin                                          Heap
//!            cursor, end  a bump region ------+              Directory: chunk -> its state
//!            free         a list of cells --+ |                Pages    free, dirty: one bit a page
//!                                           v v                starts   one bit a page: a block begins
//!            [ ][ ][x][ ][x][ ][ ][ ][ ]  cells                Block    a header for each page
//!                                                            pools      by bin: blocks that may have free cells
//!  Local   by bin                                            searched   where a search for a run begins
//!            current  the block they are from                MarkBits: 1 bit for 8 bytes, the embedder's
//!
//!  Block (header, outside of the block)
//!    pages, opened     length; how many pages, from the front, are charged
//!    first, swept      offsets of the first cell, and of the first cell that is not known to be dead or live
//!    free, bump, put   what is left of a list and a region, and how many cells, while it is nobody's current block
//!    live, used        cells live at the last collection; and with those handed out since
//! ```
//!
//! The unit that changes hands is a run. A block and a large object are runs. What a collection finds dead goes back
//! page by page to the free pages of its chunk, from which any bin or large object can take it.
//!
//! With [`Heap::with_huge_pages`] fresh memory comes 2 MiB at a time, as one *huge page* of the OS. All bins and threads fill it
//! before there is another. Where pages of one went back to the OS, [`Heap::with_collapse`] has it made anew when they are needed.
//!
//! A page goes round: *free*; claimed by a block; *open*, which is charged, when the block grows into it; free again, after a
//! collection that found no live cell on it. The pages between which it lies may stay in use: then the block is split, and
//! what is left of it goes on as blocks of fewer pages. A cell can be handed out only if all pages that it overlaps are
//! open. A dead cell that overlaps a page that has gone waits until its last page goes too.
//!
//! Of a fresh block, whole pages are handed out as a bump region: nothing is linked. Of a block with live cells, long
//! stretches of dead cells are handed out so, and short ones are linked.
//!
//! A block is one thread's, unless memory is scarce: a page for each thread and bin is much of a small heap. Then a thread takes
//! a few cells of a block at a time and lets the others have it, so that all threads fill the same pages.
//!
//! ## What each phase does
//!
//! | phase | `Heads` | `Local` | block | chunk, pools |
//! |---|---|---|---|---|
//! | allocation, fast path | bumps, or pops a cell | - | - | - |
//! | slow path, reuse | gets dead cells | makes a pooled block current | is swept as far as needed | adopts from the pool |
//! | slow path, growth | gets a bump region | makes a fresh block current | opens pages, once charged | claims a run: dirty before clean, long before short |
//! | slow path, [`Sharing::Shared`] | gets 512 bytes of cells | keeps no block | gets the rest of the cells back | other threads find the block |
//! | thread exit ([`Local::abandon`]) | emptied | emptied | gets back what was left, loses pages that are not open | gets all blocks of the thread |
//! | marking ([`Heap::mark`]) | - | - | - | pages with a marked cell are noted |
//! | [`Local::release`] | emptied | emptied; those that each bin had are kept in mind | - | - |
//! | [`Heap::begin_release`] | - | - | - | pools emptied; in a partial collection those of abandoned and of growing blocks alone |
//! | [`Heap::release_chunks`] | - | - | dead ones vanish, others are cut to their live pages | dead pages become free and dirty, pools filled |
//! | [`Heap::purge`], while threads run | - | - | - | free dirty pages return to the OS, whole huge pages first |
//!
//! ## What the embedder does
//!
//! - It chooses a [`Config`], reserves a range and mark bits, and adds chunks when
//!   [`Refill::Chunks`] asks for some. It may take them out again with [`Heap::remove_chunk`].
//! - It allocates by [`Heads::pop`] (or compiled code that does the same) and calls [`Local::refill`]
//!   when that fails, and [`Local::large`] for large objects. [`Refill::Charge`] asks it to charge pages, which is where
//!   it may poll for a collection. The library calls the embedder for pages of the OS alone, huge ones or several at once, so no
//!   collection can run in its middle.
//! - Before marking it clears the mark bits of the pages that [`Heap::forget_marked`] yields; it marks a cell
//!   by [`Heap::mark`]. If it sets the bit itself, it calls [`Heap::note_marked`].
//! - At the end of marking it runs the steps of [`Heap::release_chunks`], and those of [`Heap::purge`] when threads
//!   run again. Mark bits must then stay as they are until the next collection, because sweeping is lazy.
//! - If it marks while threads run, it gives the heap second mark bits: see [`Heap::with_sweep_bits`].
//! - In debug builds it calls [`Heap::verify`].
//!
//! Nothing is zeroed: the library writes nothing but the links of free cells.

mod block;
mod collapse;
mod collect;
mod config;
mod cycle;
mod directory;
mod heads;
mod heap;
mod local;
#[cfg(all(feature = "malloc", not(loom)))]
pub mod malloc;
mod marks;
mod nursery;
#[doc(hidden)]
pub mod pages;
mod prefetch;
mod purge;
mod runs;
mod shape;
mod size_class;
#[cfg(feature = "malloc")]
#[doc(hidden)]
pub mod spare;
#[doc(hidden)]
pub mod stack;
mod statistics;
#[doc(hidden)]
pub mod sync;
#[cfg(feature = "malloc")]
#[doc(hidden)]
pub mod thread_free;
mod verify;

pub use block::{Block, State};
pub use collect::{Released, Scope};
pub use config::{
    Accounting, Blocks, Blocks4K, Blocks64K, Blocks64KByBlock, Build, Config, CHUNK_BYTES,
    HUGE_PAGE_BYTES, LOG_CHUNK_BYTES, LOG_PAGE_BYTES, PAGE_BYTES, SMALL_CELL_BYTES,
};
pub use cycle::Cycle;
pub use directory::Chunk;
pub use heads::{Head, Heads, HEADS_BYTES, HEAD_BYTES};
pub use heap::Heap;
pub use local::{Local, Refill, Sharing};
pub use marks::{MarkBits, LOG_GRANULE_BYTES};
pub use nursery::Nursery;
pub use prefetch::prefetch;
pub use purge::PageRange;
pub use size_class::{Bin, BINS_BY_WORDS, CELL_BYTES_BY_BIN, MAX_BINS};
pub use statistics::{BinStatistics, Statistics};
pub use verify::Thread;
