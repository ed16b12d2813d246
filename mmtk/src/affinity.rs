// SPDX-License-Identifier: MIT OR Apache-2.0
//! On which processors workers run.
//!
//! When Linux wakes a thread on a busy machine, it does not look for an idle processor: `select_idle_cpu` in `kernel/sched/fair.c`
//! goes by how busy the processors have been, and mutators have had all of them until the pause began. Then several workers
//! share one processor for a whole pause, while others idle. So each worker gets a processor of its own, where
//! there is exactly one for each. With fewer workers or processors the choice stays with the system, which knows what else runs. So it does
//! where the process may run on some of the machine's processors alone, as mmtk refuses numbers above their count.

use mmtk::util::options::{AffinityKind, Options};
use std::mem;

/// Binds each of `workers` workers to a processor, if the process may run on as many. What the option `thread_affinity` says goes first.
pub fn bind_workers(options: &mut Options, workers: usize) {
    if workers == 1 || options.thread_affinity.was_set() {
        return;
    }
    let processors = processors();
    if workers == processors.len() {
        // mmtk refuses processors whose numbers are above their count. Then the choice is the system's, too.
        options
            .thread_affinity
            .set(AffinityKind::RoundRobin(processors));
    }
}

/// Whether the process may run on all processors that the option `thread_affinity` names, if the system says on which it may. The
/// system ignores others of a set.
pub fn is_possible(options: &Options) -> bool {
    match &*options.thread_affinity {
        AffinityKind::OsDefault => true,
        AffinityKind::RoundRobin(named) | AffinityKind::AllInSet(named) => {
            let allowed = processors();
            allowed.is_empty() || named.iter().all(|processor| allowed.contains(processor))
        }
    }
}

/// The processors that the calling thread may run on; none if the system does not say.
pub fn processors() -> Vec<u16> {
    // SAFETY: all zero is an empty set, and the system writes no more than its size.
    let (set, status) = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        let status = libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        (set, status)
    };
    if status != 0 {
        return Vec::new();
    }
    // SAFETY: each number is one that the set has a bit for.
    let allowed = |&cpu: &u16| unsafe { libc::CPU_ISSET(cpu.into(), &set) };
    (0..libc::CPU_SETSIZE as u16).filter(allowed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(workers: usize, given: Option<AffinityKind>) -> AffinityKind {
        let mut options = Options::default();
        if let Some(given) = given {
            options.thread_affinity.set(given);
        }
        bind_workers(&mut options, workers);
        (*options.thread_affinity).clone()
    }

    #[test]
    fn a_worker_has_a_processor_where_each_can_have_one() {
        let processors = processors();
        let count = processors.len();
        assert!(count > 0);
        let contiguous = processors.iter().copied().eq(0..count as u16);
        let expected = if count > 1 && contiguous {
            AffinityKind::RoundRobin(processors)
        } else {
            AffinityKind::OsDefault
        };
        assert_eq!(bound(count, None), expected);
    }

    #[test]
    fn otherwise_the_system_chooses() {
        let count = processors().len();
        for workers in [1, count - 1, count + 1] {
            assert_eq!(bound(workers, None), AffinityKind::OsDefault);
        }
    }

    #[test]
    fn a_named_processor_has_to_be_one_of_the_process() {
        let mut options = Options::default();
        assert!(is_possible(&options));
        for (processor, possible) in [(processors()[0], true), (u16::MAX, false)] {
            options
                .thread_affinity
                .set(AffinityKind::AllInSet(vec![processor]));
            assert_eq!(is_possible(&options), possible);
        }
    }

    #[test]
    fn an_option_goes_first() {
        let count = processors().len();
        for given in [
            AffinityKind::OsDefault,
            AffinityKind::RoundRobin(vec![0]),
            AffinityKind::AllInSet(vec![0]),
        ] {
            assert_eq!(bound(count, Some(given.clone())), given);
        }
    }
}
