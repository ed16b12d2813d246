// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one heap of the process: made once, for one width of oops, and never torn down.

use crate::OpenJDK;
use mmtk::MMTK;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// An `MMTK<OpenJDK<COMPRESSED>>`; a generic static is not possible.
static INSTANCE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static COMPRESSED_OOPS: AtomicBool = AtomicBool::new(false);

/// Keeps the heap for ever. Called once.
pub fn install<const COMPRESSED: bool>(mmtk: Box<MMTK<OpenJDK<COMPRESSED>>>) {
    COMPRESSED_OOPS.store(COMPRESSED, Ordering::Relaxed);
    INSTANCE.store(Box::into_raw(mmtk).cast(), Ordering::Release);
}

/// Which of the two bindings is in use.
#[inline(always)]
pub fn is_compressed() -> bool {
    COMPRESSED_OOPS.load(Ordering::Relaxed)
}

/// The heap.
///
/// `COMPRESSED` must be that of [`install`]: it is whatever [`is_compressed`] says, or the
/// parameter of the binding that mmtk calls, which is the same.
#[inline(always)]
pub fn mmtk<const COMPRESSED: bool>() -> &'static MMTK<OpenJDK<COMPRESSED>> {
    let instance = INSTANCE.load(Ordering::Acquire);
    debug_assert!(!instance.is_null() && COMPRESSED == is_compressed());
    // SAFETY: installed with this type, and never dropped.
    unsafe { &*instance.cast() }
}

/// Calls a function that is generic over `COMPRESSED` for the heap that there is.
macro_rules! dispatch {
    ($function:ident($($argument:expr),* $(,)?)) => {
        if $crate::heap::is_compressed() {
            $function::<true>($($argument),*)
        } else {
            $function::<false>($($argument),*)
        }
    };
}
pub(crate) use dispatch;
