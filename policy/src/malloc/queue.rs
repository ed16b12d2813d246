// SPDX-License-Identifier: MIT OR Apache-2.0
//! A doubly linked list of blocks of one heap.

use super::block::Block;
use std::cell::Cell;
use std::ptr::null;

/// Linked through the headers. The blocks are those of the thread that owns the queue.
pub(crate) struct Queue {
    first: Cell<*const Block>,
    last: Cell<*const Block>,
}

impl Queue {
    #[allow(clippy::declare_interior_mutable_const)] // It is copied, never used in place.
    pub const EMPTY: Queue = Queue {
        first: Cell::new(null()),
        last: Cell::new(null()),
    };

    pub fn first(&self) -> Option<&'static Block> {
        block(self.first.get())
    }

    /// The last block, if there is one.
    pub fn last(&self) -> Option<&'static Block> {
        block(self.last.get())
    }

    /// Whether there is one block, and no more.
    pub fn has_one(&self) -> bool {
        !self.first.get().is_null() && self.first.get() == self.last.get()
    }

    pub fn push_front(&self, block: &Block) {
        block.previous.set(null());
        block.next.set(self.first.get());
        match self.first() {
            Some(first) => first.previous.set(block),
            None => self.last.set(block),
        }
        self.first.set(block);
    }

    pub fn push_back(&self, new: &Block) {
        new.next.set(null());
        new.previous.set(self.last.get());
        match block(self.last.get()) {
            Some(last) => last.next.set(new),
            None => self.first.set(new),
        }
        self.last.set(new);
    }

    /// Makes a block of this queue the first one.
    pub fn make_first(&self, block: &Block) {
        if !std::ptr::eq(self.first.get(), block) {
            self.remove(block);
            self.push_front(block);
        }
    }

    /// Takes a block out that is in this queue.
    pub fn remove(&self, out: &Block) {
        match block(out.previous.get()) {
            Some(previous) => previous.next.set(out.next.get()),
            None => self.first.set(out.next.get()),
        }
        match block(out.next.get()) {
            Some(next) => next.previous.set(out.previous.get()),
            None => self.last.set(out.previous.get()),
        }
    }

    /// The blocks from the front on. The one that was yielded last may be taken out.
    pub fn iter(&self) -> impl Iterator<Item = &'static Block> {
        let mut at = self.first.get();
        std::iter::from_fn(move || {
            let this = block(at)?;
            at = this.next.get();
            Some(this)
        })
    }
}

fn block(pointer: *const Block) -> Option<&'static Block> {
    // SAFETY: links lead to headers, which stay while their block is in a queue.
    unsafe { pointer.as_ref() }
}
