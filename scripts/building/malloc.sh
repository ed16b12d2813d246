#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Builds build/libshardsweep_malloc.so, for LD_PRELOAD and for C programs that include malloc/include/shardsweep.h.
# Usage: malloc.sh
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
source ./rust.sh

main() {
  need_packages gcc libc6-dev
  need_rust
  ./patch-crate.sh
  (cd "$ROOT" && run_logged "$OUT/log/malloc.log" cargo build --profile preload --package shardsweep-malloc --features override --target-dir "$OUT/cargo")
  put_file "$OUT/cargo/preload/libshardsweep_malloc.so" "$OUT/libshardsweep_malloc.so"
  say "build/libshardsweep_malloc.so is ready"
}

main
