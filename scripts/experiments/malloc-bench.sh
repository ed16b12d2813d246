#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures our malloc and others under the programs of malloc/benchmarks, in turn: time and peak resident memory, into
# results/malloc. What is missing is built or installed. Interrupted, the same command goes on.
# Usage: malloc-bench.sh [--rounds N] [--threads 1,2] [--programs larson,cfrac] [--share 0.1] [--minutes N] [--folder DIR] [--report]
set -euo pipefail
# Paths in the arguments are relative to where this was called: no change of directory here.
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

BENCH=$OUT/malloc/bench
DEBIAN=/usr/lib/x86_64-linux-gnu

build_programs() {
  local source name
  mkdir -p "$BENCH"
  for source in "$ROOT"/malloc/benchmarks/*.c; do
    name=$(basename "$source" .c)
    case $name in
      bump) gcc -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -o "$BENCH/libbump.so" "$source" ;;
      pairs) ;;
      measure) gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$BENCH/measure" "$source" ;;
      *) gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$BENCH/$name" "$source" -pthread ;;
    esac
  done
  install -m 755 "$ROOT/malloc/benchmarks/cxx-build.sh" "$BENCH/cxx-build"
}

main() {
  need_packages gcc g++ libc6-dev python3 python3-venv libmimalloc2.0 libjemalloc2 libtcmalloc-minimal4 libtbbmalloc2
  "$ROOT/scripts/building/malloc.sh"
  "$ROOT/scripts/building/malloc.sh" secure
  [[ -e $OUT/mimalloc/libmimalloc1.so && -e $OUT/mimalloc/libmimalloc3.so ]] || "$ROOT/scripts/building/mimalloc.sh" 1 3
  "$ROOT/scripts/building/rivals.sh"
  "$ROOT/scripts/experiments/venv.sh"
  build_programs
  "$OUT/venv/bin/python" -m shardsweep.mallocs --programs-in "$BENCH" --folder "$ROOT/results/malloc" "$@" \
    glibc= \
    shardsweep="$OUT/libshardsweep_malloc.so" \
    shardsweep-secure="$OUT/libshardsweep_malloc_secure.so" \
    mimalloc1="$OUT/mimalloc/libmimalloc1.so" \
    mimalloc2="$DEBIAN/libmimalloc.so.2.0" \
    mimalloc3="$OUT/mimalloc/libmimalloc3.so" \
    jemalloc="$DEBIAN/libjemalloc.so.2" \
    tcmalloc="$DEBIAN/libtcmalloc_minimal.so.4" \
    tbb="$DEBIAN/libtbbmalloc_proxy.so.2" \
    snmalloc="$OUT/malloc/libsnmalloc.so" \
    rpmalloc="$OUT/malloc/librpmalloc.so" \
    bump="$BENCH/libbump.so"
}

main "$@"
