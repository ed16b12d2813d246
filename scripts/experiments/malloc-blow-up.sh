#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Has a thread allocate cells and another free them, for so many cells (default: 7.2 billion, an hour of two million a second), under our
# malloc, plain and in secure mode, and writes what the process holds every ten seconds to results/malloc/blow-up.csv. What is in flight is
# bounded; fails if after a tenth of the time the process comes to hold a quarter more than before.
# Usage: malloc-blow-up.sh [CELLS]
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh

PROGRAM=$OUT/malloc/bench/blow-up

# samples NAME LIBRARY CELLS: a line of time and resident KiB each ten seconds.
samples() {
  local name=$1 library=$2 cells=$3 process resident
  LD_PRELOAD=$library "$PROGRAM" 1 "$cells" >"$OUT/malloc/blow-up.said" &
  process=$!
  SECONDS=0
  while sleep 10 && resident=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$process/status" 2>/dev/null) && [[ $resident ]]; do
    echo "$name,$cells,$SECONDS,$resident"
  done
  wait "$process" || die "blow-up ends with $? on $name"
  grep -qx "blow-up: $cells cells" "$OUT/malloc/blow-up.said" || die "blow-up says: $(cat "$OUT/malloc/blow-up.said")"
}

main() {
  local cells=${1-7200000000} name file=$ROOT/results/malloc/blow-up.csv partial=$OUT/malloc/blow-up.csv
  [[ $cells =~ ^[0-9]+$ ]] || die "how many cells? '$cells' is no number"
  need_packages gcc libc6-dev
  ../building/malloc.sh
  ../building/malloc.sh secure
  mkdir -p "$OUT/malloc/bench" "$ROOT/results/malloc"
  gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$PROGRAM" "$ROOT/malloc/benchmarks/blow-up.c" -pthread
  echo "allocator,cells,seconds,resident_kib" >"$partial"
  samples shardsweep "$OUT/libshardsweep_malloc.so" "$cells" >>"$partial"
  samples shardsweep-secure "$OUT/libshardsweep_malloc_secure.so" "$cells" >>"$partial"
  mv "$partial" "$file"
  for name in shardsweep shardsweep-secure; do
    awk -F, -v name=$name '$1 == name { time[++n] = $3; held[n] = $4 }
      END {
        for (i = 1; i <= n; i++) if (time[i] <= time[n] / 10 + 10) early = held[i] > early ? held[i] : early; else late = held[i] > late ? held[i] : late
        printf "%s: at most %d KiB in the first tenth of %d s, %d KiB after it\n", name, early, time[n], late
        exit !(n && late <= 1.25 * early)
      }' "$file" || die "what $name holds is not bounded"
  done
}

main "$@"
