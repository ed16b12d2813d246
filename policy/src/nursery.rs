// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much threads allocate before a collection comes, though the heap has room for more.
//!
//! The less that is, the fewer pages are resident, and the warmer are those that threads use again. It is half of what the last
//! collection has left free, unless collections are dear: then as much as makes what one costs small, up to all there is.

/// A page of the nursery can bear so much of what a collection costs, in nanoseconds of a processor: four for each of its cache lines.
const NANOS_PER_PAGE: u64 = 256;

/// One part in so many of what a collection is expected to cost is what the last one of its kind has cost.
const SMOOTHING: u64 = 4;

/// What collections of one kind are expected to cost, in nanoseconds of a processor.
#[derive(Clone, Copy, Debug)]
enum Cost {
    /// None has ended.
    Unknown,
    /// One has ended. It says little of the next: the first runs code and touches metadata that are cold.
    First,
    /// The mean of what they cost, the last ones most.
    Expected(u64),
}

impl Cost {
    fn note(&mut self, nanos: u64) {
        *self = match *self {
            Cost::Unknown => Cost::First,
            Cost::First => Cost::Expected(nanos),
            Cost::Expected(cost) => Cost::Expected(cost - cost / SMOOTHING + nanos / SMOOTHING),
        }
    }

    /// Pages that can bear it.
    fn pages(self) -> usize {
        match self {
            Cost::Unknown | Cost::First => 0,
            Cost::Expected(nanos) => (nanos / NANOS_PER_PAGE) as usize,
        }
    }
}

/// How large the nursery is.
#[derive(Clone, Copy, Debug)]
pub struct Nursery {
    /// Pages that threads may be handed out before a collection comes, at least one.
    pages: usize,
    partial: Cost,
    full: Cost,
}

impl Nursery {
    /// The nursery before the first collection, in a heap of so many pages.
    pub fn new(free: usize) -> Self {
        let mut nursery = Nursery {
            pages: 1,
            partial: Cost::Unknown,
            full: Cost::Unknown,
        };
        nursery.begin(free, false);
        nursery
    }

    /// A collection has cost so much, in nanoseconds of a processor. Returns whether that says something of the next of its kind.
    pub fn note_cost(&mut self, full: bool, nanos: u64) -> bool {
        let cost = self.cost(full);
        cost.note(nanos);
        !matches!(cost, Cost::First)
    }

    /// A collection has left so many pages free, and the next one is a full one or, if it need not be, a partial one.
    pub fn begin(&mut self, free: usize, full: bool) {
        let bearing = self.cost(full).pages();
        self.pages = bearing.max(free / 2).max(1);
    }

    /// Pages that threads may be handed out before the next one: more than there are if it is due when the heap is full alone.
    pub fn pages(&self) -> usize {
        self.pages
    }

    fn cost(&mut self, full: bool) -> &mut Cost {
        if full {
            &mut self.full
        } else {
            &mut self.partial
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CHEAP: u64 = 100 * NANOS_PER_PAGE;
    const DEAR: u64 = 10_000 * NANOS_PER_PAGE;

    /// The nursery where so many pages are free, and collections of the kind have cost that much.
    fn pages(free: usize, full: bool, costs: &[u64]) -> usize {
        let mut nursery = Nursery::new(free);
        for &cost in costs {
            nursery.note_cost(full, cost);
        }
        nursery.begin(free, full);
        nursery.pages()
    }

    #[test]
    fn cheap_collections_come_when_half_is_used() {
        for full in [false, true] {
            assert_eq!(pages(1000, full, &[]), 500);
            assert_eq!(pages(800, full, &[CHEAP; 2]), 400);
        }
    }

    #[test]
    fn dear_collections_come_when_the_heap_is_full() {
        for full in [false, true] {
            assert_eq!(pages(800, full, &[DEAR]), 400, "it is the first");
            assert!(pages(800, full, &[DEAR; 2]) > 800);
        }
    }

    #[test]
    fn what_collections_of_the_other_kind_cost_says_nothing() {
        let mut nursery = Nursery::new(1000);
        assert_eq!(
            [(); 3].map(|()| nursery.note_cost(true, DEAR)),
            [false, true, true]
        );
        nursery.begin(1000, false);
        assert_eq!(nursery.pages(), 500);
    }

    #[test]
    fn collections_that_become_cheap_come_early_again() {
        let sizes: Vec<usize> = (0..40)
            .map(|cheap| pages(1000, false, &[vec![DEAR; 2], vec![CHEAP; cheap]].concat()))
            .collect();
        assert!(sizes.windows(2).all(|pair| pair[1] <= pair[0]), "{sizes:?}");
        assert_eq!(sizes[39], 500);
    }

    #[test]
    fn a_full_heap_has_a_nursery() {
        assert_eq!(pages(0, false, &[]), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 256 }))]

        /// What is expected lies between what collections have cost, but for the first.
        #[test]
        fn a_page_bears_what_collections_have_cost(costs in prop::collection::vec(0..10 * DEAR, 1..50), free in 0..100_000usize) {
            let bearing = |nanos: Option<&u64>| nanos.map_or(0, |nanos| (nanos / NANOS_PER_PAGE) as usize);
            let (least, most) = (bearing(costs[1..].iter().min()), bearing(costs[1..].iter().max()));
            let half = (free / 2).max(1);
            prop_assert!((half.max(least)..=half.max(most)).contains(&pages(free, false, &costs)));
        }
    }
}
