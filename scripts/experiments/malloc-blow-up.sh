#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Has a thread allocate cells and another free them, under our malloc, plain and in secure mode, and takes what the process holds every
# ten seconds. What is in flight is bounded: fails if after the first tenth of the samples the process comes to hold a quarter more than in
# it. Puts blow-up.csv and blow-up.json, with machine and commit, into results/malloc; with another number of cells than the default it
# leaves them in build/malloc.
# Usage: malloc-blow-up.sh [CELLS]     (default: 7.2 billion, an hour of two million a second)
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh

PROGRAM=$OUT/malloc/bench/blow-up
CELLS=7200000000
# Fewer samples of a process have no first tenth.
FEWEST=10

# samples NAME LIBRARY CELLS: a line of time and resident KiB each ten seconds.
samples() {
  local name=$1 library=$2 cells=$3 process resident
  LD_PRELOAD=$library "$PROGRAM" 1 "$cells" >"$OUT/malloc/blow-up.said" &
  process=$!
  # An interrupt of the script alone does not reach it.
  # shellcheck disable=SC2064 # the process as it is now
  trap "kill $process 2>/dev/null || true" EXIT
  SECONDS=0
  while sleep 10 && resident=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$process/status" 2>/dev/null) && [[ $resident ]]; do
    echo "$name,$cells,$SECONDS,$resident"
  done
  wait "$process" || die "blow-up ends with $? on $name"
  trap - EXIT
  grep -qx "blow-up: $cells cells" "$OUT/malloc/blow-up.said" || die "blow-up says: $(cat "$OUT/malloc/blow-up.said")"
}

# judge NAME FILE: says what it holds, and dies where that is not bounded, or where the samples do not tell.
judge() {
  local said status=0
  said=$(awk -F, -v name="$1" -v fewest=$FEWEST '$1 == name { time = $3; held[++n] = $4 }
    END {
      if (n < fewest) exit 2
      for (i = 1; i <= n; i++) if (i <= n / 10 + 1) early = held[i] > early ? held[i] : early; else late = held[i] > late ? held[i] : late
      printf "%s: at most %d KiB in the first tenth of %d s, %d KiB after it\n", name, early, time, late
      exit !(late <= 1.25 * early)
    }' "$2") || status=$?
  ((status != 2)) || die "too few samples of $1 to judge: fewer than $FEWEST, ten seconds apart: give more cells"
  echo "$said"
  ((status == 0)) || die "what $1 holds is not bounded: the samples are in $2"
}

main() {
  local cells=${1-$CELLS} partial=$OUT/malloc/blow-up
  [[ $cells =~ ^[0-9]+$ ]] || die "how many cells? '$cells' is no number"
  need_packages gcc libc6-dev
  ./venv.sh
  ../building/malloc.sh
  ../building/malloc.sh secure
  mkdir -p "$OUT/malloc/bench" "$ROOT/results/malloc"
  gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$PROGRAM" "$ROOT/malloc/benchmarks/blow-up.c" -pthread
  "$OUT/venv/bin/python" -m shardsweep.machine "$partial.json"
  echo "allocator,cells,seconds,resident_kib" >"$partial.csv"
  samples shardsweep "$OUT/libshardsweep_malloc.so" "$cells" >>"$partial.csv"
  samples shardsweep-secure "$OUT/libshardsweep_malloc_secure.so" "$cells" >>"$partial.csv"
  judge shardsweep "$partial.csv"
  judge shardsweep-secure "$partial.csv"
  [[ $cells != "$CELLS" ]] || mv "$partial.csv" "$partial.json" "$ROOT/results/malloc"
}

main "$@"
