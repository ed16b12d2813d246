// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hint to the processor.

/// Has the processor fetch the cache line at `address`, which need not be valid. It is worth it where what is read there a
/// little later is most likely not in a cache, and the processor cannot foresee the address.
#[inline(always)]
pub fn prefetch(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads nothing that the program sees, whatever the address.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
