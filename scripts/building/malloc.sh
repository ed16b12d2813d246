#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Builds build/libshardsweep_malloc.so, for LD_PRELOAD and for C programs that include malloc/include/shardsweep.h; with the
# argument `secure` build/libshardsweep_malloc_secure.so, which is in secure mode.
# Usage: malloc.sh [secure]
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
source ./rust.sh

main() {
  local features=override name=libshardsweep_malloc
  case ${1-} in
    '') ;;
    secure) features+=,secure name+=_secure ;;
    *) die "there is no '$1' library: say nothing, or secure" ;;
  esac
  need_packages gcc libc6-dev
  need_rust
  ./patch-crate.sh
  # A folder each, as Cargo keeps one build of a library at a time.
  local target=$OUT/cargo/$name
  (cd "$ROOT" && run_logged "$OUT/log/$name.log" cargo build --profile preload --package shardsweep-malloc --features "$features" --target-dir "$target")
  put_file "$target/preload/libshardsweep_malloc.so" "$OUT/$name.so"
  say "build/$name.so is ready"
}

main "$@"
