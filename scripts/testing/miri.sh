#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs the tests of policy/ in Miri, which finds undefined behaviour: those of the heap, and those of the malloc, plain and in secure
# mode. Tests that look at the OS, and the largest cases, are left out there. Needs rustup's nightly toolchain with Miri, which Debian has
# not, and the better part of an hour; so `make test` leaves it out. Memory stays mapped there: see policy/src/malloc/os.rs.
# Usage: miri.sh [heap|malloc|secure...]     (default: all of them)
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh

# tests_in_miri ARGUMENT...: runs those tests of policy/.
tests_in_miri() { cargo +nightly miri test --manifest-path "$ROOT/policy/Cargo.toml" --target-dir "$OUT/cargo-miri" "$@"; }

main() {
  local part
  cargo +nightly miri --version >/dev/null 2>&1 || die "there is no Miri: run \`rustup toolchain install nightly --component miri,rust-src\`"
  ../building/patch-crate.sh
  # Cells are found by arithmetic on addresses, and what is mapped for good is never given back.
  export MIRIFLAGS="-Zmiri-permissive-provenance -Zmiri-ignore-leaks -Zmiri-disable-isolation"
  [[ $# != 0 ]] || set -- heap malloc secure
  for part in "$@"; do
    say "$part"
    case $part in
      heap)
        tests_in_miri --lib --test purger
        # Marks are set by the byte and looked for by the word, never at once: Miri's emulation of weak memory fails at that.
        MIRIFLAGS="$MIRIFLAGS -Zmiri-disable-weak-memory-emulation" tests_in_miri --test model --test threads
        ;;
      malloc | secure)
        tests_in_miri --features "$part" --lib malloc
        tests_in_miri --features "$part" --test malloc
        ;;
      *) die "there is no part $part: heap, malloc, secure" ;;
    esac
  done
}

main "$@"
