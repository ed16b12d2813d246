#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs tests of policy/ that have several threads under ThreadSanitizer, which finds data races: those of the malloc, plain and in secure
# mode, and those of the heap. The standard library is compiled with it, too, so that what its channels and joins order is seen. Needs
# rustup's nightly toolchain with the library's source, which Debian has not; so `make test` leaves it out.
# Usage: tsan.sh [heap|malloc|secure...]     (default: all of them)
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh

TARGET=x86_64-unknown-linux-gnu

# tests ARGUMENT...: runs those tests of policy/. The first race ends them.
tests() {
  CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-Zsanitizer=thread --cfg tsan" TSAN_OPTIONS="halt_on_error=1" \
    cargo +nightly test -Zbuild-std --target $TARGET --manifest-path "$ROOT/policy/Cargo.toml" --target-dir "$OUT/cargo-tsan" "$@"
}

main() {
  local part
  [[ -d $(rustc +nightly --print sysroot 2>/dev/null)/lib/rustlib/src/rust ]] ||
    die "there is no nightly toolchain with its source: run \`rustup toolchain install nightly --component rust-src\`"
  ../building/patch-crate.sh
  [[ $# != 0 ]] || set -- heap malloc secure
  for part in "$@"; do
    say "$part"
    case $part in
      heap) tests --test threads ;;
      malloc | secure) tests --features "$part" --test malloc ;;
      *) die "there is no part $part: heap, malloc, secure" ;;
    esac
  done
}

main "$@"
