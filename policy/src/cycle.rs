// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a generational collector looks at the whole heap again: when that pays.
//!
//! A cycle is a full collection and the partial ones after it. It costs processor time of the workers, and yields what threads are handed
//! out after each of them, on pages or in cells on pages that are charged: that is known when the next one begins. A partial
//! collection frees less than the one before, because old garbage piles up. A page costs least if a cycle ends when one more partial
//! collection would cost more a page than the cycle so far (the marginal value theorem: E. L. Charnov, "Optimal Foraging",
//! Theoretical Population Biology 9, 1976).
//!
//! Where most of what is young survives, no partial collection pays. That can be seen only afterwards: of a cycle whose
//! pages cost more than those of its full collection alone. Then full collections follow each other: one, and each time that
//! partial ones have been tried again in vain, about twice as many, up to a limit.

/// Full collections in a row, at most, before partial ones are tried again.
const MOST_SKIPPED: u32 = 31;

/// What the collections of one cycle have cost and yielded. Costs are in any one unit of time, yields in pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cycle {
    /// The cost of the full collection, and what it has yielded.
    full: (u64, usize),
    cost: u64,
    yielded: usize,
    /// What the last collection has yielded.
    last: usize,
    /// The last partial collection, if there was one: its cost, and by how much less it has yielded than the one before.
    partial: Option<(u64, usize)>,
    /// Whether what the last collection has yielded is passed over, as its cost is.
    passes_over: bool,
    /// How many cycles from this one on have no partial collection.
    skipped: u32,
    /// How many there were when partial ones were last tried in vain.
    skipped_before: u32,
}

impl Cycle {
    /// Ends the cycle, before a full collection. Returns whether the next cycle may have partial ones.
    pub fn end(&mut self) -> bool {
        if self.partial.is_some() {
            let paid = is_cheaper((self.cost, self.yielded), self.full);
            self.skipped = if paid {
                0
            } else {
                (2 * self.skipped_before + 1).min(MOST_SKIPPED)
            };
            self.skipped_before = self.skipped;
        } else {
            self.skipped = self.skipped.saturating_sub(1);
        }
        self.skipped == 0
    }

    /// Begins a cycle, when one was ended, by a full collection, which cost that much.
    pub fn begin(&mut self, cost: u64) {
        self.full = (cost, 0);
        (self.cost, self.yielded, self.partial) = (cost, 0, None);
        self.passes_over = false;
    }

    /// Adds a partial collection, which cost that much.
    pub fn add_partial(&mut self, cost: u64) {
        self.partial = Some((cost, 0));
        self.cost += cost;
    }

    /// Passes over a partial collection whose cost says nothing of others, and what it yields.
    pub fn pass_over(&mut self) {
        self.passes_over = true;
    }

    /// The last collection has yielded so many pages.
    pub fn note_yield(&mut self, pages: usize) {
        if std::mem::take(&mut self.passes_over) {
            return;
        }
        match &mut self.partial {
            Some((_, loss)) => *loss = self.last.saturating_sub(pages),
            None => self.full.1 = pages,
        }
        self.yielded += pages;
        self.last = pages;
    }

    /// Forgets the partial collections, where it cannot be known what they yield: nothing is said of whether they pay.
    pub fn forget_partial(&mut self) {
        self.partial = None;
    }

    /// Whether the next collection is to be a full one, when it is known what the last one has yielded. The next partial one is
    /// expected to cost as much as the last one. Its yield is expected to fall by as much as that of the last one fell.
    pub fn is_over(&self) -> bool {
        let Some((cost, loss)) = self.partial else {
            return self.skipped > 0;
        };
        let expected = self.last.saturating_sub(loss);
        // Nothing for nothing is not cheap: what became garbage since the full collection is there all the same.
        expected == 0 || !is_cheaper((cost, expected), (self.cost, self.yielded))
    }
}

/// Whether a page of the first costs no more than one of the second. Each is a cost and a number of pages.
fn is_cheaper(first: (u64, usize), second: (u64, usize)) -> bool {
    u128::from(first.0) * second.1 as u128 <= u128::from(second.0) * first.1 as u128
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Partial collections until the cycle is over, each of which frees that part less than the one before; and what a page costs.
    fn run(full: u64, partial: u64, mut free: f64, left: f64) -> (usize, f64) {
        let mut cycle = Cycle::default();
        cycle.begin(full);
        cycle.note_yield(free as usize);
        let mut count = 0;
        while !cycle.is_over() {
            free *= left;
            cycle.add_partial(partial);
            cycle.note_yield(free as usize);
            count += 1;
        }
        (count, cycle.cost as f64 / cycle.yielded as f64)
    }

    #[test]
    fn a_full_collection_is_followed_by_a_partial_one() {
        let mut cycle = Cycle::default();
        cycle.begin(100);
        cycle.note_yield(0);
        assert!(!cycle.is_over());
    }

    #[test]
    fn partial_collections_that_cost_as_much_as_full_ones_do_not_pay() {
        assert_eq!(run(100, 101, 1000.0, 1.0).0, 1);
    }

    #[test]
    fn partial_collections_that_free_nothing_end_the_cycle() {
        for free in [1000, 0] {
            let mut cycle = Cycle::default();
            cycle.begin(100);
            cycle.note_yield(free);
            cycle.add_partial(1);
            cycle.note_yield(0);
            assert!(cycle.is_over());
        }
    }

    /// In each of so many cycles the number of partial collections, which cost that much each and yield as much as full ones.
    fn partials(cycle: &mut Cycle, cycles: usize, partial: u64) -> Vec<usize> {
        let mut counts = Vec::new();
        for _ in 0..cycles {
            let may_be_partial = cycle.end();
            cycle.begin(100);
            cycle.note_yield(1000);
            assert_eq!(cycle.is_over(), !may_be_partial);
            let mut count = 0;
            while !cycle.is_over() && count < 9 {
                cycle.add_partial(partial);
                cycle.note_yield(1000);
                count += 1;
            }
            counts.push(count);
        }
        counts
    }

    #[test]
    fn partial_collections_in_vain_are_tried_ever_less() {
        let counts = partials(&mut Cycle::default(), 200, 101);
        let tried: Vec<usize> = (0..200).filter(|&at| counts[at] != 0).collect();
        assert_eq!(tried[..7], [0, 2, 6, 14, 30, 62, 94]);
        assert!(counts.iter().all(|&count| count <= 1));
    }

    #[test]
    fn partial_collections_that_pay_again_come_in_each_cycle() {
        let mut cycle = Cycle::default();
        partials(&mut cycle, 20, 101);
        let counts = partials(&mut cycle, 40, 10);
        let first = counts.iter().position(|&count| count != 0).unwrap();
        assert!(
            first < 16 && counts[first..].iter().all(|&count| count == 9),
            "{counts:?}"
        );
    }

    #[test]
    fn what_yields_an_unknown_number_of_pages_is_not_in_vain() {
        let mut cycle = Cycle::default();
        cycle.begin(100);
        cycle.note_yield(1000);
        cycle.add_partial(101);
        cycle.forget_partial();
        assert!(cycle.end());
    }

    #[test]
    fn what_is_passed_over_is_no_part_of_the_cycle() {
        let mut cycle = Cycle::default();
        cycle.begin(100);
        cycle.note_yield(1000);
        cycle.pass_over();
        cycle.note_yield(10);
        assert!(!cycle.is_over());
        cycle.add_partial(101);
        cycle.note_yield(1000);
        assert!(!cycle.end(), "a page costs more than by full ones alone");
    }

    #[test]
    fn the_cheaper_partial_collections_are_the_more_there_are() {
        let counts: Vec<usize> = [50, 20, 5, 1]
            .map(|cost| run(100, cost, 1e6, 0.9).0)
            .to_vec();
        assert!(
            counts.windows(2).all(|pair| pair[0] < pair[1]),
            "{counts:?}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 256 }))]

        /// No other number of partial collections makes a page cheaper, but for one more or less: the loss is estimated.
        #[test]
        fn a_cycle_ends_where_a_page_costs_least(full in 50u64..500, partial in 1u64..50, left in 0.7f64..0.95) {
            let (count, _) = run(full, partial, 1e9, left);
            let price = |partials: usize| {
                let yielded: f64 = (0..=partials as i32).map(|each| 1e9 * left.powi(each)).sum();
                (full as f64 + partials as f64 * partial as f64) / yielded
            };
            let best = (0..200).min_by(|a, b| price(*a).total_cmp(&price(*b))).unwrap();
            prop_assert!(count.abs_diff(best.max(1)) <= 1, "{count} partial collections, {best} would be best");
        }
    }
}
