// SPDX-License-Identifier: MIT OR Apache-2.0
//! Run by `cargo test --package shardsweep-policy --test purger`.

use super::*;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;

/// Longer than any thread waits for a processor: what comes later never comes.
const NEVER: Duration = Duration::from_secs(60);

fn purger(spawn: Spawn) -> &'static Purger {
    Box::leak(Box::new(Purger::with(spawn, DELAY)))
}

fn no_thread(_: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    Err(io::ErrorKind::WouldBlock.into())
}

/// An assignment of `batches`, each of which calls `batch`.
fn assignment(batches: usize, batch: impl FnMut() + Send + 'static) -> Assignment {
    let mut batch = batch;
    Assignment {
        batches: Box::new((0..batches).map(move |_| batch())),
        is_excess: Box::new(|| true),
        mutators_first: Box::new(|| false),
    }
}

/// A counter, and a function that counts.
fn counter() -> (Arc<AtomicUsize>, impl FnMut() + Send + 'static) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    (count, move || {
        counted.fetch_add(1, Ordering::SeqCst);
    })
}

fn wait<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(NEVER).expect("the purger's thread")
}

#[test]
fn without_a_thread_the_caller_purges() {
    let purger = purger(no_thread);
    let (purged, batch) = counter();
    purger.assign(assignment(3, batch));
    purger.wake();
    assert_eq!(purged.load(Ordering::SeqCst), 0);
    purger.finish();
    assert_eq!(purged.load(Ordering::SeqCst), 3);
}

#[test]
fn a_thread_is_asked_for_until_there_is_one() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let purger = purger(|body| match ASKED.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => no_thread(body),
        _ => spawn(body),
    });
    let (sender, receiver) = channel();
    for _ in 0..4 {
        let sender: Sender<()> = sender.clone();
        purger.assign(assignment(1, move || sender.send(()).unwrap()));
        purger.wake();
        if !purger.alive.load(Ordering::SeqCst) {
            purger.finish();
        }
        wait(&receiver);
    }
    assert_eq!(ASKED.load(Ordering::SeqCst), 3, "one thread is enough");
}

#[test]
fn the_limit_is_looked_at_before_each_batch() {
    for most in 0..4 {
        let purger = purger(no_thread);
        let (purged, batch) = counter();
        let seen = purged.clone();
        purger.assign(Assignment {
            is_excess: Box::new(move || seen.load(Ordering::SeqCst) < most),
            ..assignment(3, batch)
        });
        purger.finish();
        assert_eq!(purged.load(Ordering::SeqCst), most.min(3));
    }
}

#[test]
fn no_wake_up_is_lost() {
    let purger = purger(spawn);
    let (sender, receiver) = channel();
    for _ in 0..2000 {
        let sender: Sender<()> = sender.clone();
        // The thread may be about to sleep.
        purger.assign(assignment(1, move || sender.send(()).unwrap()));
        purger.wake();
        wait(&receiver);
    }
}

#[test]
fn after_a_request_no_batch_begins() {
    let purger = purger(no_thread);
    let (purged, mut count) = counter();
    purger.assign(assignment(3, move || {
        count();
        purger.cancel();
    }));
    purger.finish();
    assert_eq!(purged.load(Ordering::SeqCst), 1);

    let (purged, batch) = counter();
    purger.assign(assignment(3, batch));
    purger.finish();
    assert_eq!(purged.load(Ordering::SeqCst), 3, "the next collection's");
}

#[test]
fn a_collection_waits_for_the_batch_on_its_way() {
    let purger = purger(spawn);
    let (started, has_started) = channel();
    let done = Arc::new(AtomicUsize::new(0));
    let ends = done.clone();
    purger.assign(assignment(2, move || {
        started.send(()).unwrap();
        while purger.assigned.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        // Time for `stop` to return, if it did not wait.
        thread::sleep(Duration::from_millis(20));
        ends.fetch_add(1, Ordering::SeqCst);
    }));
    purger.wake();
    wait(&has_started);
    purger.stop();
    assert_eq!(done.load(Ordering::SeqCst), 1);
    purger.finish();
    assert_eq!(done.load(Ordering::SeqCst), 1, "the second batch is void");
}

#[test]
fn mutators_come_first_until_a_collection_is_overdue() {
    let purger = purger(spawn);
    purger.work.lock().unwrap().overdue = Instant::now() + NEVER;
    let (looked, has_looked) = channel();
    let (batch, has_purged) = channel();
    purger.assign(Assignment {
        mutators_first: Box::new(move || looked.send(()).is_ok()),
        ..assignment(1, move || batch.send(()).unwrap())
    });
    purger.wake();
    wait(&has_looked);
    wait(&has_looked);
    assert!(
        has_purged.try_recv().is_err(),
        "it has purged at its first look"
    );
    purger.work.lock().unwrap().overdue = Instant::now();
    wait(&has_purged);
}

#[test]
fn a_thread_that_waits_for_mutators_looks_again_when_it_is_to_hurry() {
    let purger: &Purger = Box::leak(Box::new(Purger::with(spawn, 10 * NEVER)));
    purger.work.lock().unwrap().overdue = Instant::now() + 10 * NEVER;
    purger.hurry();
    let is_within = Arc::new(AtomicBool::new(true));
    let asked = is_within.clone();
    let (batch, has_purged) = channel();
    purger.assign(Assignment {
        mutators_first: Box::new(move || asked.load(Ordering::SeqCst)),
        ..assignment(1, move || batch.send(()).unwrap())
    });
    purger.wake();
    while !purger.yields.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    // It has the lock until it waits.
    drop(purger.work.lock());
    is_within.store(false, Ordering::SeqCst);
    purger.hurry();
    wait(&has_purged);
}

/// On how many processors the thread may run: the calling one for 0.
fn processors(thread: libc::pid_t) -> i32 {
    // SAFETY: all zero is an empty set; the system writes no more than its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(thread, size_of_val(&set), &mut set);
        libc::CPU_COUNT(&set)
    }
}

#[test]
#[cfg_attr(miri, ignore = "it knows no processors")]
fn the_thread_is_not_bound_where_its_maker_is() {
    let (send, receive) = channel();
    let maker = thread::spawn(|| {
        // SAFETY: all zero is an empty set, and the number is one that it has a bit for.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(libc::sched_getcpu() as usize, &mut set);
            assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
        }
        assert_eq!(processors(0), 1);
        spawn(Box::new(move || send.send(processors(0)).unwrap())).unwrap();
    });
    maker.join().unwrap();
    // SAFETY: this has no conditions.
    let process = unsafe { libc::getpid() };
    assert_eq!(receive.recv_timeout(NEVER), Ok(processors(process)));
}

#[test]
fn a_pause_is_not_the_beginning_of_a_collection() {
    let purger = purger(no_thread);
    let times = || {
        let work = purger.work.lock().unwrap();
        (work.began, work.overdue)
    };
    purger.stop();
    let before = times();
    purger.pause();
    assert_eq!(times(), before);
    purger.stop();
    assert!(times() > before);
}
