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
//! an OS page of 4 KiB. A *chunk* is 4 MiB of address space, the unit in which the heap grows.
//!
//! ## The data structure
//!
//! ```text
//!  thread                                                     shared
//!  Heads   [list of bin 0][list of bin 1] ...                 Heap
//!              |                                                Directory: chunk -> headers of its blocks
//!              v  cells, linked through their first word        Pools
//!            [ ]->[ ]->[ ]->0   (cells of the current block)      free        blocks of no bin
//!                                                                 dirty       the same, with dirty pages at first
//!                                                                 unswept     by bin: may have free cells
//!  Local   by bin                                                 available   by bin: can grow
//!            current    the block that the list comes from        full        nothing left
//!            unswept    may have free cells on charged pages    MarkBits: 1 bit for 8 bytes, the embedder's
//!            available  can grow
//!            full       nothing left until the next collection
//!
//!  Block (header, outside of the block)
//!    bin, state, owner, link      which list it is on, and whose
//!    free                         cells already linked, while it is nobody's current block
//!    open     one bit a page      its cells can be handed out; with page accounting: is charged
//!    unswept  one bit a page      open, but its dead cells have not been linked since the collection
//!    dirty    one bit a page      not open, but the OS may still hold it
//!    cold                         had dirty pages when the last collection began
//!    live, used                   cells live at the last collection; and with those handed out since
//! ```
//!
//! A page of a block in use goes round: *closed* (not charged; none of its cells can be had), *open*
//! by growth, *unswept* after a collection that found a live cell on it, swept, and closed again
//! by a collection that found none. A fresh block has all its pages closed, so growing a block page by
//! page (mimalloc's capacity and reserved) and refilling holes in old blocks are the same step:
//! charge the pages of the lowest cell that cannot be had yet, and link the cells that this brings
//! into reach. A cell can be handed out only if all pages that it overlaps are open. A cell between an
//! open and a closed page therefore waits until the block grows into the closed one; it needs no note.
//!
//! Every block is in exactly one list at any time. Lists are intrusive; those of a thread are plain,
//! those of the heap are lock-free stacks. Blocks change hands only through the stacks.
//!
//! ## What each phase does
//!
//! | phase | `Heads` | `Local` | block | pools |
//! |---|---|---|---|---|
//! | allocation, fast path | pops a cell | - | - | - |
//! | slow path, reuse | gets the free cells of one page | makes an unswept block current, files the old one | sweeps its next unswept page | adopts from `unswept` |
//! | slow path, growth | gets the cells of a new page | makes an available, adopted or free block current | opens pages, once charged | adopts from `available`, then from `dirty`, then from `free` |
//! | thread exit ([`Local::give_up`]) | emptied | emptied | gets back what was left of its list | get all blocks of the thread |
//! | marking ([`Heap::note_marked`]) | - | - | those with a marked cell are noted | - |
//! | [`Local::release`] | emptied | emptied | - | - |
//! | [`Heap::begin_release`] | - | - | - | emptied |
//! | [`Heap::release_chunk`] | - | - | closes dead pages, makes the others unswept, counts live cells | get every block of the chunk |
//! | [`Heap::purge`], while threads run | - | - | dirty pages return to the OS, those of cold blocks first | - |
//!
//! ## What the embedder does
//!
//! - It chooses a [`Config`], reserves a range and mark bits, and adds chunks when
//!   [`Refill::Chunk`] asks for one.
//! - It allocates by [`Heads::pop`] (or compiled code that does the same) and calls [`Local::refill`]
//!   when that fails. [`Refill::Charge`] asks it to charge pages, which is where it may poll for a
//!   collection. As the library itself never calls out, no collection can run in its middle.
//! - Before marking it clears the mark bits of the blocks that [`Heap::forget_marked`] yields; when it marks a cell, it
//!   calls [`Heap::note_marked`].
//! - At the end of marking it runs the steps of [`Heap::release_chunk`], and those of [`Heap::purge`] when threads
//!   run again. Mark bits must then stay as they are until the next collection, because sweeping is lazy.
//! - In debug builds it calls [`Heap::verify`].
//!
//! Nothing is zeroed: the library writes nothing but the links of free cells.

mod block;
mod collect;
mod config;
mod directory;
mod heads;
mod heap;
mod local;
#[cfg(feature = "malloc")]
pub mod malloc;
mod marks;
#[doc(hidden)]
pub mod pages;
mod prefetch;
mod purge;
mod shape;
mod size_class;
#[doc(hidden)]
pub mod stack;
mod statistics;
#[doc(hidden)]
pub mod sync;
mod verify;

pub use block::{Block, State};
pub use collect::Released;
pub use config::{
    Accounting, Blocks, Blocks4K, Blocks64K, Blocks64KWhole, Build, Config, CHUNK_BYTES,
    LOG_CHUNK_BYTES, LOG_PAGE_BYTES, PAGE_BYTES,
};
pub use directory::Chunk;
pub use heads::{Heads, HEADS_BYTES, HEAD_BYTES};
pub use heap::Heap;
pub use local::{Local, Refill};
pub use marks::{MarkBits, LOG_GRANULE_BYTES};
pub use purge::PageRange;
pub use size_class::{Bin, MAX_BINS, SMALL_BINS, SMALL_BYTES};
pub use statistics::{BinStatistics, Statistics};
pub use verify::Thread;
