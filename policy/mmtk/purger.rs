// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread that returns free memory to the OS while mutators run.

use super::os::run_anywhere;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// From this time on that others had the processor, none is idle.
const BUSY: Duration = Duration::from_micros(500);

/// Time before a batch where no processor is idle, and from one look at a busy heap to the next. To return a batch and to
/// fault it in again takes some 1 ms, of which this makes 1 % of a processor's time. While there is
/// something left to purge, a heap that comes to hold more than it may is looked at at once.
const DELAY: Duration = Duration::from_millis(100);

/// How many times the time between the last two collections passes before the next one is overdue. Until then, mutators that
/// allocate steadily use again what the last one has freed: a page that is purged before its turn costs them a fault.
const OVERDUE: u32 = 4;

/// What a collection has left to do.
pub struct Assignment {
    /// Batches of pages, each returned at a step. That yields whether there was any page to return.
    pub batches: Box<dyn Iterator<Item = ()> + Send>,
    /// Whether there is more than may stay. Asked before each batch: mutators use pages meanwhile.
    pub is_excess: Box<dyn Fn() -> bool + Send>,
    /// Whether mutators come first: what has been purged, they would fault in again.
    pub mutators_first: Box<dyn Fn() -> bool + Send>,
}

impl Assignment {
    fn none() -> Self {
        Assignment {
            batches: Box::new(std::iter::empty()),
            is_excess: Box::new(|| false),
            mutators_first: Box::new(|| true),
        }
    }

    /// Purges a batch. Returns whether there may be more.
    fn step(&mut self) -> bool {
        (self.is_excess)() && self.batches.next().is_some()
    }
}

/// The assignment and its time.
struct Work {
    assignment: Assignment,
    /// When the last collection began.
    began: Instant,
    /// When the next one is overdue, if mutators allocate about as they did before the last.
    overdue: Instant,
}

/// Makes a thread that runs the function it is given.
type Spawn = fn(Box<dyn FnOnce() + Send>) -> io::Result<()>;

/// A thread that purges after each collection, one batch after the other. It touches no object, and the VM
/// does not know it.
pub struct Purger {
    /// Whether there may be batches left.
    assigned: AtomicBool,
    /// Locked during a batch.
    work: Mutex<Work>,
    woken: Condvar,
    /// Whether the thread waits for mutators, which come first.
    yields: AtomicBool,
    /// How long it waits.
    delay: Duration,
    /// Whether there is a thread.
    alive: AtomicBool,
    spawn: Spawn,
}

impl Purger {
    /// A purger without a thread: most heaps are too small to need one.
    pub fn new() -> Self {
        Self::with(spawn, DELAY)
    }

    /// The same with another way to make a thread, and another time for it to wait for mutators.
    fn with(spawn: Spawn, delay: Duration) -> Self {
        let now = Instant::now();
        Purger {
            assigned: AtomicBool::new(false),
            work: Mutex::new(Work {
                assignment: Assignment::none(),
                began: now,
                overdue: now,
            }),
            woken: Condvar::new(),
            yields: AtomicBool::new(false),
            delay,
            alive: AtomicBool::new(false),
            spawn,
        }
    }

    /// Has the assignment done. Does not wake the thread. Called by one thread at a time.
    pub fn assign(&'static self, assignment: Assignment) {
        let mut work = self.work.lock().unwrap();
        work.assignment = assignment;
        // Within the lock: the thread looks at it there before it sleeps.
        self.assigned.store(true, Ordering::Relaxed);
        drop(work);
        // Without a thread, [`Purger::finish`] purges; the system may have one to spare the next time.
        if !self.alive.load(Ordering::Relaxed) {
            self.alive.store(self.start(), Ordering::Relaxed);
        }
    }

    /// Wakes the thread if it has something to do.
    pub fn wake(&self) {
        if self.assigned.load(Ordering::Relaxed) {
            self.woken.notify_all();
        }
    }

    /// Has the thread ask again whether mutators come first, if it waits for them. One that is about to wait may do so once.
    pub fn hurry(&self) {
        if self.yields.load(Ordering::Relaxed) && self.yields.swap(false, Ordering::Relaxed) {
            self.woken.notify_all();
        }
    }

    fn start(&'static self) -> bool {
        let started = (self.spawn)(Box::new(|| self.run()));
        if let Err(error) = &started {
            warn!("free memory stays resident: there is no thread to return it: {error}");
        }
        started.is_ok()
    }

    /// Purges no more batches, because a collection was asked for. One may still be on its way.
    pub fn cancel(&self) {
        self.assigned.store(false, Ordering::Relaxed);
    }

    /// Waits until the batch on its way has been purged: none is before more are assigned.
    pub fn pause(&self) {
        drop(self.stopped());
    }

    /// The same, because a collection begins.
    pub fn stop(&self) {
        let mut work = self.stopped();
        let now = Instant::now();
        work.overdue = now + OVERDUE * (now - work.began);
        work.began = now;
    }

    fn stopped(&self) -> MutexGuard<'_, Work> {
        self.cancel();
        self.work.lock().unwrap()
    }

    /// Purges in the caller's thread what is left.
    pub fn finish(&self) {
        while self.purge_batch() {}
    }

    /// Purges a batch. Returns whether there may be more.
    fn purge_batch(&self) -> bool {
        let mut work = self.work.lock().unwrap();
        let more = self.assigned.load(Ordering::Relaxed) && work.assignment.step();
        if !more {
            self.assigned.store(false, Ordering::Relaxed);
        }
        more
    }

    fn run(&self) -> ! {
        loop {
            let idle = |_: &mut Work| !self.assigned.load(Ordering::Relaxed);
            let work = self.woken.wait_while(self.work.lock().unwrap(), idle);
            let work = work.unwrap();
            let mutators_first = (work.assignment.mutators_first)();
            if mutators_first && Instant::now() < work.overdue {
                self.yields.store(true, Ordering::Relaxed);
                let _ = self.woken.wait_timeout(work, self.delay).unwrap();
                self.yields.store(false, Ordering::Relaxed);
                continue;
            }
            drop(work);
            if mutators_first {
                give_way();
            }
            self.purge_batch();
        }
    }
}

fn spawn(body: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    let thread = thread::Builder::new().name("MMTk purger".to_owned());
    // The thread that spawns it is a worker, which may be bound to a processor.
    let unbound = || {
        run_anywhere();
        body();
    };
    thread.spawn(unbound).map(drop)
}

/// Lets others run. Runs on at once where a processor is idle.
fn give_way() {
    let began = Instant::now();
    thread::yield_now();
    if began.elapsed() >= BUSY {
        thread::sleep(DELAY);
    }
}

#[cfg(test)]
#[path = "purger/tests.rs"]
mod tests;
