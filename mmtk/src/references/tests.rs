// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stages on a heap of numbers: object n is "reached" or not, and moves to n + MOVED if it is.

use super::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::thread;

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
    let pending = clear_unreached(&heap, references);
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
    pending.join(&heap, Pending::default());
    assert!(heap.list(&pending).is_empty());
    pending.join(&heap, clear_unreached(&heap, references));
    pending.join(&heap, Pending::default());
    heap.set_referent(object(0x80), Some(object(0x200)));
    pending.join(&heap, clear_unreached(&heap, [object(0x80)]));
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

    let mut traced = Vec::new();
    let pending = revive(&heap, finals, |referent| {
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
    let clears = |policy: &SoftPolicy, last_use| last_use < policy.oldest_use();
    let policy = SoftPolicy {
        clear_all: false,
        clock: 1000,
        max_age: 100,
    };
    assert!(!clears(&policy, 900));
    assert!(clears(&policy, 899));
    assert!(!clears(&policy, i64::MAX));
    assert!(clears(&policy, i64::MIN), "no overflow");
    let all = SoftPolicy {
        clear_all: true,
        ..policy
    };
    assert!(clears(&all, 1000));
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
    for (strength, residue) in [
        (Strength::Soft, 0),
        (Strength::Weak, 1),
        (Strength::Final, 2),
        (Strength::Phantom, 3),
    ] {
        assert_eq!(discovery.count(strength), 10);
        let found: Vec<_> = discovery.take(strength).claim().map(number).collect();
        assert_eq!(found.len(), 10);
        assert!(found.iter().all(|found| found / 8 % 4 == residue));
        assert_eq!(discovery.count(strength), 0);
    }
}

#[test]
fn workers_claim_each_reference_once() {
    let lengths = [0, 1, PIECE, PIECE + 1, 1000 * PIECE - 1];
    let total: usize = lengths.iter().sum();
    let mut numbers = (1..=total).map(|index| object(index * 8));
    let references = References::new(lengths.map(|length| numbers.by_ref().take(length).collect()));
    assert_eq!(references.len(), total);
    let claimed = thread::scope(|scope| {
        let workers = [(); 4].map(|()| scope.spawn(|| references.claim().map(number).collect()));
        workers.map(|worker| -> Vec<usize> { worker.join().unwrap() })
    });
    let mut claimed = claimed.concat();
    claimed.sort_unstable();
    assert_eq!(
        claimed,
        (1..=total).map(|index| index * 8).collect::<Vec<_>>()
    );
    assert_eq!(references.claim().count(), 0);
}
