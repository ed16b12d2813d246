// SPDX-License-Identifier: MIT OR Apache-2.0
//! The threads of the fake VM, its safepoints, and what each pause was for.

use super::plugin;
use super::roots::unclaim;
use crate::abi::{self, Head, Heads, Mutator, MutatorVisitor, Remembered, Thread, Worker};
use crate::abi::{BINS, REMEMBERED, REMEMBERED_BYTES};
use crate::trigger;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
#[cfg(feature = "shardsweep")]
use std::time::Duration;
use std::{ptr, thread};

/// A `Thread`: only what the plugin reads.
pub struct FakeThread {
    pub mutator: Mutator,
    pub heads: Heads,
    pub remembered: Remembered,
}

impl FakeThread {
    pub fn new(mutator: Mutator) -> *mut Self {
        let none = || Head {
            cursor: ptr::null_mut(),
            end: ptr::null_mut(),
            free: ptr::null_mut(),
            cell_bytes: 0,
        };
        let heads = Heads {
            bins: [(); BINS].map(|()| none()),
            refilled_bytes: 0,
        };
        let remembered = Remembered {
            unused_bytes: REMEMBERED_BYTES,
            objects: [ptr::null_mut(); REMEMBERED],
        };
        Box::into_raw(Box::new(Self {
            mutator,
            heads,
            remembered,
        }))
    }
}

pub static JAVA_THREAD: AtomicPtr<FakeThread> = AtomicPtr::new(ptr::null_mut());

/// How many collections are over, and whether the Java thread waits for one.
pub static SAFEPOINT: Mutex<(usize, bool)> = Mutex::new((0, false));
pub static CHANGED: Condvar = Condvar::new();

pub unsafe extern "C" fn spawn_worker(worker: Worker) {
    let worker = worker as usize;
    thread::spawn(move || {
        let mutator = ptr::null_mut();
        let me = FakeThread::new(mutator);
        // SAFETY: a thread and a worker, both used by this thread alone.
        unsafe { (plugin().run_worker)(me.cast(), worker as Worker) }
    });
}

pub unsafe extern "C" fn stop_all_mutators(_worker: Thread) {
    let state = SAFEPOINT.lock().unwrap();
    drop(CHANGED.wait_while(state, |(_, waiting)| !*waiting).unwrap());
    // SAFETY: a pause begins.
    PAUSE.store(unsafe { (plugin().pause)() }, Ordering::SeqCst);
    unclaim();
}

pub unsafe extern "C" fn resume_mutators(_worker: Thread) {
    let pause = PAUSE.load(Ordering::SeqCst);
    PAUSE_COUNTS[pause as usize].fetch_add(1, Ordering::SeqCst);
    MARKING.store(pause == abi::PAUSE_INITIAL_MARK, Ordering::SeqCst);
    // SAFETY: a pause ends.
    let next = unsafe { (plugin().pause)() };
    NEXT_PAUSE.store(next, Ordering::SeqCst);
    let is_waited_for = trigger::pending() != 0;
    if is_waited_for != (next == abi::PAUSE_FINAL_MARK) {
        WRONGLY_WAITED_FOR.fetch_add(1, Ordering::SeqCst);
    }
    *SAFEPOINT.lock().unwrap() = (SAFEPOINT_COUNT.fetch_add(1, Ordering::SeqCst) + 1, false);
    CHANGED.notify_all();
}

pub static SAFEPOINT_COUNT: AtomicUsize = AtomicUsize::new(0);
/// What the last pause was for, and how many there were of each kind.
pub static PAUSE: AtomicI32 = AtomicI32::new(0);
pub static PAUSE_COUNTS: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];
/// What the plugin said at the end of the last pause that the next one would be for.
pub static NEXT_PAUSE: AtomicI32 = AtomicI32::new(0);
/// How often threads waited for memory when they were let run, or for none though another pause followed at once.
pub static WRONGLY_WAITED_FOR: AtomicUsize = AtomicUsize::new(0);
/// Whether marking runs beside the thread.
pub static MARKING: AtomicBool = AtomicBool::new(false);

pub unsafe extern "C" fn block_for_gc(_thread: Thread) {
    let mut state = SAFEPOINT.lock().unwrap();
    state.1 = true;
    CHANGED.notify_all();
    drop(CHANGED.wait_while(state, |(_, waiting)| *waiting).unwrap());
}

/// How long the Java thread waits for a pause that nothing in it has asked for.
#[cfg(feature = "shardsweep")]
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Whether the Java thread is outside a pause.
pub fn is_running() -> bool {
    !SAFEPOINT.lock().unwrap().1
}

pub unsafe extern "C" fn mutators_do(visit: MutatorVisitor, context: *mut c_void) {
    let thread = JAVA_THREAD.load(Ordering::Acquire);
    // SAFETY: the one Java thread, which is stopped.
    unsafe { visit(context, (*thread).mutator, thread.cast()) }
}
