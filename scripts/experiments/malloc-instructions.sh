#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Counts the instructions that a pair of malloc and free of 16 to 64 bytes takes in one thread, with the loop around it, by callgrind, so that
# other programs on the machine do not matter. Writes results/malloc/instructions.csv, and in instructions.json beside it machine and commit.
# snmalloc is not in it: it does not start in valgrind.
# Usage: malloc-instructions.sh
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh

PAIRS=100000
DEBIAN=/usr/lib/x86_64-linux-gnu

# instructions LIBRARY PAIRS: of the whole program.
instructions() {
  LD_PRELOAD=$1 valgrind --tool=callgrind --callgrind-out-file="$OUT/malloc/callgrind.out" "$OUT/malloc/pairs" 1 "$2" 2>&1 |
    sed -n 's/.*Collected : *//p'
}

main() {
  local name library once twice to=$ROOT/results/malloc partial=$OUT/malloc/instructions
  need_packages gcc libc6-dev valgrind libmimalloc2.0 libjemalloc2 libtcmalloc-minimal4
  ./venv.sh
  ../building/malloc.sh
  ../building/malloc.sh secure
  ../building/mimalloc.sh 1 3
  ../building/rivals.sh
  mkdir -p "$OUT/malloc" "$to"
  gcc -std=gnu11 -O2 -fno-builtin -Wall -Wextra -Werror -o "$OUT/malloc/pairs" "$ROOT/malloc/benchmarks/pairs.c" -pthread
  "$OUT/venv/bin/python" -m shardsweep.machine "$partial.json"
  echo "allocator,instructions" >"$partial.csv"
  while read -r name library; do
    once=$(instructions "$library" $PAIRS) || true
    twice=$(instructions "$library" $((2 * PAIRS))) || true
    [[ $once =~ ^[0-9]+$ && $twice =~ ^[0-9]+$ ]] || die "callgrind does not count on $name"
    awk -v name="$name" -v more=$((twice - once)) -v pairs=$PAIRS 'BEGIN { printf "%s,%.1f\n", name, more / pairs }' >>"$partial.csv"
  done <<END
glibc
shardsweep $OUT/libshardsweep_malloc.so
shardsweep-secure $OUT/libshardsweep_malloc_secure.so
mimalloc1 $OUT/mimalloc/libmimalloc1.so
mimalloc2 $DEBIAN/libmimalloc.so.2.0
mimalloc3 $OUT/mimalloc/libmimalloc3.so
jemalloc $DEBIAN/libjemalloc.so.2
tcmalloc $DEBIAN/libtcmalloc_minimal.so.4
rpmalloc $OUT/malloc/librpmalloc.so
END
  mv "$partial.json" "$partial.csv" "$to"
  cat "$to/instructions.csv"
}

main
