// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stages on a heap of numbers: object n is "reached" or not, and moves to n + MOVED if it is.

use super::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

const MOVED: usize = 0x1000;

#[derive(Default)]
struct FakeHeap {
    reached: RefCell<BTreeSet<usize>>,
    referent: RefCell<BTreeMap<usize, usize>>,
    next: RefCell<BTreeMap<usize, usize>>,
    discovered: RefCell<BTreeMap<usize, Option<usize>>>,
}

fn number(object: ObjectReference) -> usize {
    object.to_raw_address().as_usize()
}

fn object(number: usize) -> ObjectReference {
    // SAFETY: only the number is used.
    ObjectReference::from_raw_address(unsafe { Address::from_usize(number) }).unwrap()
}

impl Heap for FakeHeap {
    fn referent(&self, reference: ObjectReference) -> Option<ObjectReference> {
        self.referent
            .borrow()
            .get(&number(reference))
            .copied()
            .map(object)
    }

    fn set_referent(&self, reference: ObjectReference, referent: Option<ObjectReference>) {
        let mut fields = self.referent.borrow_mut();
        match referent {
            Some(referent) => fields.insert(number(reference), number(referent)),
            None => fields.remove(&number(reference)),
        };
    }

    fn set_next(&self, reference: ObjectReference, next: ObjectReference) {
        self.next
            .borrow_mut()
            .insert(number(reference), number(next));
    }

    fn set_discovered(&self, reference: ObjectReference, next: Option<ObjectReference>) {
        self.discovered
            .borrow_mut()
            .insert(number(reference), next.map(number));
    }

    fn is_reachable(&self, object: ObjectReference) -> bool {
        self.reached.borrow().contains(&number(object))
    }

    fn forwarded(&self, old: ObjectReference) -> ObjectReference {
        assert!(self.is_reachable(old));
        object(number(old) + MOVED)
    }
}

impl FakeHeap {
    /// References 8, 16, ... to the given referents; 0 is null.
    fn with(referents: &[usize], reached: &[usize]) -> (Self, Vec<ObjectReference>) {
        let heap = Self::default();
        heap.reached.borrow_mut().extend(reached);
        let references: Vec<_> = (1..=referents.len())
            .map(|index| object(index * 8))
            .collect();
        for (reference, referent) in references.iter().zip(referents) {
            if *referent != 0 {
                heap.set_referent(*reference, Some(object(*referent)));
            }
        }
        (heap, references)
    }

    /// The pending list, from its head.
    fn list(&self, pending: &Pending) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = pending.head.map(number);
        while let Some(reference) = at {
            found.push(reference);
            at = self.discovered.borrow()[&reference];
        }
        assert_eq!(pending.tail.map(number), found.last().copied());
        found
    }
}

#[test]
fn unreached_referents_are_cleared() {
    let (heap, references) = FakeHeap::with(&[0x100, 0x108, 0, 0x110], &[0x108]);
    let mut pending = Pending::default();
    clear_unreached(&heap, references, &mut pending);
    assert_eq!(heap.list(&pending), [32, 8]);
    assert_eq!(
        *heap.referent.borrow(),
        BTreeMap::from([(16, 0x108 + MOVED)])
    );
    assert!(heap.next.borrow().is_empty());
}

#[test]
fn pending_lists_join() {
    let (heap, references) = FakeHeap::with(&[0x100, 0x108], &[]);
    let mut pending = Pending::default();
    clear_unreached(&heap, references, &mut pending);
    heap.set_referent(object(0x80), Some(object(0x200)));
    clear_unreached(&heap, vec![object(0x80)], &mut pending);
    assert_eq!(heap.list(&pending), [0x80, 16, 8]);
}

#[test]
fn finalizable_objects_are_kept_once() {
    // 8 and 16 share an unreached referent, 24 has one that was reached, 32 has none.
    let (heap, references) = FakeHeap::with(&[0x100, 0x100, 0x108, 0], &[0x108]);
    let finals = finalizable(&heap, references);
    assert_eq!(
        finals.iter().copied().map(number).collect::<Vec<_>>(),
        [8, 16]
    );
    assert_eq!(heap.referent.borrow()[&24], 0x108 + MOVED);

    let mut pending = Pending::default();
    let mut traced = Vec::new();
    revive(&heap, finals, &mut pending, |referent| {
        traced.push(number(referent));
        object(number(referent) + MOVED)
    });
    assert_eq!(traced, [0x100, 0x100]);
    assert_eq!(heap.list(&pending), [16, 8]);
    let referents = heap.referent.borrow();
    assert_eq!(
        (referents[&8], referents[&16]),
        (0x100 + MOVED, 0x100 + MOVED)
    );
    assert_eq!(
        *heap.next.borrow(),
        BTreeMap::from([(8, 8), (16, 16)]),
        "inactive"
    );
}

#[test]
fn soft_references_age() {
    let policy = SoftPolicy {
        clear_all: false,
        clock: 1000,
        max_age: 100,
    };
    assert!(!policy.clears(900));
    assert!(policy.clears(899));
    assert!(!policy.clears(i64::MAX));
    assert!(policy.clears(i64::MIN), "no overflow");
    let all = SoftPolicy {
        clear_all: true,
        ..policy
    };
    assert!(all.clears(1000));
}

#[test]
fn discovered_lists_are_gathered_from_all_workers() {
    let discovery = Discovery::new();
    for worker in 1..=40 {
        let thread = crate::upcalls::vm_thread((worker << 10) as *mut _);
        let strength = [
            Strength::Soft,
            Strength::Weak,
            Strength::Final,
            Strength::Phantom,
        ][worker % 4];
        discovery.add(VMWorkerThread(thread), strength, object(worker * 8));
    }
    let lists = discovery.take();
    for (list, residue) in [
        (lists.soft, 0),
        (lists.weak, 1),
        (lists.finals, 2),
        (lists.phantom, 3),
    ] {
        assert_eq!(list.len(), 10);
        assert!(list
            .iter()
            .all(|&reference| number(reference) / 8 % 4 == residue));
    }
    assert!(discovery.take().weak.is_empty());
}
