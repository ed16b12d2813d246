#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs the tests of the malloc in Miri, which finds undefined behaviour: plain and in secure mode. Needs rustup's nightly toolchain with
# Miri, which Debian has not, and minutes; so `make test` leaves it out. Memory stays mapped there: see policy/src/malloc/os.rs.
# Usage: miri.sh
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh

main() {
  local feature
  cargo +nightly miri --version >/dev/null 2>&1 || die "there is no Miri: run \`rustup toolchain install nightly --component miri,rust-src\`"
  ../building/patch-crate.sh
  # Cells are found by arithmetic on addresses, and what is mapped for good is never given back.
  export MIRIFLAGS="-Zmiri-permissive-provenance -Zmiri-ignore-leaks -Zmiri-disable-isolation"
  for feature in malloc secure; do
    say "feature $feature"
    cargo +nightly miri test --manifest-path "$ROOT/policy/Cargo.toml" --features "$feature" --test malloc --target-dir "$OUT/cargo-miri"
  done
}

main
