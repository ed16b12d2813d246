// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hints to the processor. The end of a collection visits headers and mark bits that nothing has touched for
//! long, so that it would mostly wait for memory, a line at a time.

/// Has the cache line at the start of `value` loaded, which is needed soon.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint has no effect that a program could observe, whatever the address.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}
