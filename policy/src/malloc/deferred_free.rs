// SPDX-License-Identifier: MIT OR Apache-2.0
//! The deferred-free hook: what the program does at each call of the generic path, of any heap.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{fence, AtomicPtr, AtomicUsize};

/// What the program does at each call of the generic path: see [`set_deferred_free`].
pub type DeferredFree = extern "C" fn(force: bool, heartbeat: u64, argument: *mut c_void);

static HOOK: AtomicPtr<()> = AtomicPtr::new(null_mut());
static ARGUMENT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// Counts how often the two began and ended to be changed: odd meanwhile.
static CHANGES: AtomicUsize = AtomicUsize::new(0);

/// Has `hook` called with `argument` at each call of the generic path of any heap, which happens after a bounded number of
/// allocations, and where the OS has no memory. Its `heartbeat` counts those calls of the thread; `force` asks it to free all it can. It may
/// allocate and free, but not end the heap that is allocated from, nor unwind. It is not called again meanwhile, nor while cells
/// of the thread are being visited. When this returns, another thread may still be in a call of the hook before.
pub fn set_deferred_free(hook: Option<DeferredFree>, argument: *mut c_void) {
    let begin = |changes| (changes % 2 == 0).then_some(changes + 1);
    while CHANGES.fetch_update(Acquire, Relaxed, begin).is_err() {
        std::thread::yield_now();
    }
    fence(Release);
    ARGUMENT.store(argument, Relaxed);
    let hook = hook.map_or(null_mut(), |hook| hook as *mut ());
    HOOK.store(hook, Relaxed);
    CHANGES.fetch_add(1, Release);
}

/// In the child of a fork: a thread that was setting the hook is not there to end it. Then there is none.
pub(crate) fn forget_change() {
    if CHANGES.load(Relaxed) % 2 != 0 {
        HOOK.store(null_mut(), Relaxed);
        CHANGES.fetch_add(1, Release);
    }
}

/// The hook and its argument. None if there is no hook, or where another is being set, whose turn is the next call.
pub(crate) fn hook() -> Option<(DeferredFree, *mut c_void)> {
    if HOOK.load(Relaxed).is_null() {
        return None;
    }
    let changes = CHANGES.load(Acquire);
    let (hook, argument) = (HOOK.load(Relaxed), ARGUMENT.load(Relaxed));
    fence(Acquire);
    if hook.is_null() || changes % 2 != 0 || changes != CHANGES.load(Relaxed) {
        return None;
    }
    // SAFETY: `set_deferred_free` stored a function of this type.
    let hook = unsafe { std::mem::transmute::<*mut (), DeferredFree>(hook) };
    Some((hook, argument))
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn nothing(_: bool, _: u64, _: *mut c_void) {}

    #[test]
    fn a_hook_that_was_being_set_at_a_fork_is_none_and_can_be_set_again() {
        set_deferred_free(Some(nothing), null_mut());
        forget_change();
        assert!(hook().is_some(), "it was set");
        // As the other thread has left it.
        CHANGES.fetch_add(1, Relaxed);
        assert!(hook().is_none());
        forget_change();
        assert!(hook().is_none());
        set_deferred_free(Some(nothing), null_mut());
        assert!(hook().is_some());
        set_deferred_free(None, null_mut());
    }
}
