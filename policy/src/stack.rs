// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lock-free stack of blocks, linked through the blocks' headers.
//!
//! This is Treiber's stack (R. K. Treiber, "Systems Programming: Coping with Parallelism", IBM RJ
//! 5118, 1986). Headers are never freed while the heap lives, so a thread may read the link of a block that
//! another thread has just popped; a counter beside the head makes the exchange fail in that case
//! (the ABA problem).

use crate::sync::{AtomicU32, AtomicU64};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Number of the first page of a block, plus one; 0 stands for none.
pub type Link = u32;
/// The link that leads nowhere.
pub const NONE: Link = 0;

/// Where the links of blocks are stored.
pub trait Links {
    /// The link that belongs to block `link`, which is not [`NONE`].
    fn link(&self, link: Link) -> &AtomicU32;
}

/// Blocks that were linked by one thread, to be given to a [`Stack`] in one step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain {
    first: Link,
    last: Link,
}

impl Chain {
    /// Whether nothing was pushed.
    pub fn is_empty(self) -> bool {
        self.first == NONE
    }

    /// Puts `block` in front.
    pub fn push(&mut self, links: &impl Links, block: Link) {
        links.link(block).store(self.first, Relaxed);
        if self.is_empty() {
            self.last = block;
        }
        self.first = block;
    }

    /// The blocks from front to back.
    pub fn iter<'a>(&self, links: &'a impl Links) -> impl Iterator<Item = Link> + 'a {
        follow(self.first, links)
    }
}

/// A stack that any thread may push to and pop from, on a cache line of its own.
#[repr(align(64))]
#[derive(Debug)]
pub struct Stack {
    /// The top block in the low half, a count of changes in the high half.
    head: AtomicU64,
}

impl Default for Stack {
    fn default() -> Self {
        Stack {
            head: AtomicU64::new(0),
        }
    }
}

impl Stack {
    /// Pushes all blocks of `chain`; its front becomes the top. What this thread wrote to the blocks
    /// is visible to whoever pops them.
    pub fn push(&self, links: &impl Links, chain: Chain) {
        if chain.is_empty() {
            return;
        }
        let mut head = self.head.load(Relaxed);
        loop {
            links.link(chain.last).store(top(head), Relaxed);
            match self.head.compare_exchange_weak(
                head,
                successor(head, chain.first),
                Release,
                Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Pops the top block, which the caller then owns.
    pub fn pop(&self, links: &impl Links) -> Option<Link> {
        let mut head = self.head.load(Acquire);
        loop {
            let block = top(head);
            if block == NONE {
                return None;
            }
            let next = links.link(block).load(Relaxed);
            match self
                .head
                .compare_exchange_weak(head, successor(head, next), Acquire, Acquire)
            {
                Ok(_) => return Some(block),
                Err(now) => head = now,
            }
        }
    }

    /// Forgets all blocks. Nobody may push or pop meanwhile.
    pub fn clear(&self) {
        self.head
            .store(successor(self.head.load(Relaxed), NONE), Relaxed);
    }

    /// The blocks from the top down. Nobody may push or pop meanwhile.
    pub fn iter<'a>(&self, links: &'a impl Links) -> impl Iterator<Item = Link> + 'a {
        follow(top(self.head.load(Acquire)), links)
    }
}

fn follow(first: Link, links: &impl Links) -> impl Iterator<Item = Link> + '_ {
    let link = |link| (link != NONE).then_some(link);
    std::iter::successors(link(first), move |&block| {
        link(links.link(block).load(Relaxed))
    })
}

fn top(head: u64) -> Link {
    head as u32
}

fn successor(head: u64, top: Link) -> u64 {
    ((head >> 32).wrapping_add(1) << 32) | u64::from(top)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Table(Vec<AtomicU32>);

    impl Links for Table {
        fn link(&self, link: Link) -> &AtomicU32 {
            &self.0[link as usize - 1]
        }
    }

    fn table(len: usize) -> Table {
        Table((0..len).map(|_| AtomicU32::new(NONE)).collect())
    }

    fn chain(links: &Table, blocks: &[Link]) -> Chain {
        let mut chain = Chain::default();
        for &block in blocks {
            chain.push(links, block);
        }
        chain
    }

    #[test]
    fn last_in_first_out() {
        let links = table(5);
        let stack = Stack::default();
        stack.push(&links, chain(&links, &[1, 2]));
        stack.push(&links, Chain::default());
        stack.push(&links, chain(&links, &[3, 4, 5]));
        assert_eq!(stack.iter(&links).collect::<Vec<_>>(), [5, 4, 3, 2, 1]);
        let popped: Vec<_> = std::iter::from_fn(|| stack.pop(&links)).collect();
        assert_eq!(popped, [5, 4, 3, 2, 1]);
        stack.push(&links, chain(&links, &[1]));
        stack.clear();
        assert_eq!(stack.pop(&links), None);
    }

    #[test]
    fn a_stale_head_is_noticed() {
        let links = table(2);
        let stack = Stack::default();
        stack.push(&links, chain(&links, &[1, 2]));
        let stale = stack.head.load(Relaxed);
        assert_eq!(stack.pop(&links), Some(2));
        stack.push(&links, chain(&links, &[2]));
        assert_eq!(top(stale), top(stack.head.load(Relaxed)));
        assert_ne!(stale, stack.head.load(Relaxed));
    }

    #[test]
    fn threads_share_without_loss() {
        let (blocks, rounds) = if cfg!(miri) { (8, 20) } else { (64, 20_000) };
        let links = table(blocks);
        let stack = Stack::default();
        stack.push(
            &links,
            chain(&links, &(1..=blocks as u32).collect::<Vec<_>>()),
        );
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        let mut held = Chain::default();
                        while held.iter(&links).count() < 3 {
                            let Some(block) = stack.pop(&links) else {
                                break;
                            };
                            held.push(&links, block);
                        }
                        stack.push(&links, held);
                    }
                });
            }
        });
        let mut left: Vec<_> = stack.iter(&links).collect();
        left.sort_unstable();
        assert_eq!(left, (1..=blocks as u32).collect::<Vec<_>>());
    }
}
