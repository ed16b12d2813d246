// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the library is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // At the end of a thread the C library calls into ours, though the program has closed it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
