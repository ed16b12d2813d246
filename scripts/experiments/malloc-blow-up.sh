#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Has a thread allocate cells and another free them, under our malloc, plain and in secure mode, and takes what the process holds every
# ten seconds. What is in flight is bounded: fails if after the first tenth of the samples the process comes to hold a quarter more than in
# it. Puts blow-up.csv and blow-up.json, with machine and commit, into results/malloc; with another number of cells than the default it
# leaves them in build/malloc. Interrupted, the same command on the same commit goes on with the malloc that it was at.
# Usage: malloc-blow-up.sh [CELLS]     (default: 7.2 billion, an hour of two million a second)
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
forget_malloc_options

PROGRAM=$OUT/malloc/bench/blow-up
PARTIAL=$OUT/malloc/blow-up
CELLS=7200000000
# Fewer samples of a process have no first tenth.
FEWEST=10

# samples NAME LIBRARY CELLS: a line of time and resident KiB each ten seconds, into a file that is there when the program has ended.
samples() {
  local name=$1 library=$2 cells=$3 file=$PARTIAL-$1.csv process resident
  [[ ! -e $file ]] || return 0
  LD_PRELOAD=$library "$PROGRAM" 1 "$cells" >"$OUT/malloc/blow-up.said" &
  process=$!
  # An interrupt of the script alone does not reach it.
  # shellcheck disable=SC2064 # the process as it is now
  trap "kill $process 2>/dev/null || true" EXIT
  SECONDS=0
  while sleep 10 && resident=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$process/status" 2>/dev/null) && [[ $resident ]]; do
    echo "$name,$cells,$SECONDS,$resident"
  done >"$file.partial"
  wait "$process" || die "blow-up ends with $? on $name"
  trap - EXIT
  grep -qx "blow-up: $cells cells" "$OUT/malloc/blow-up.said" || die "blow-up says: $(cat "$OUT/malloc/blow-up.said")"
  mv "$file.partial" "$file"
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
  local cells=${1-$CELLS}
  [[ $cells =~ ^[0-9]+$ ]] || die "how many cells? '$cells' is no number"
  need_packages gcc libc6-dev
  ./venv.sh
  ../building/malloc.sh
  ../building/malloc.sh secure
  mkdir -p "$OUT/malloc/bench" "$ROOT/results/malloc"
  gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$PROGRAM" "$ROOT/malloc/benchmarks/blow-up.c" -pthread
  local committed=()
  [[ $cells != "$CELLS" ]] || committed=(--committed)
  if ! resumes "$PARTIAL.json" --command "scripts/experiments/malloc-blow-up.sh $cells" "${committed[@]}"; then
    rm -f "$PARTIAL"-*.csv
    begins "$PARTIAL.json"
  fi
  samples shardsweep "$OUT/libshardsweep_malloc.so" "$cells"
  samples shardsweep-secure "$OUT/libshardsweep_malloc_secure.so" "$cells"
  { echo "allocator,cells,seconds,resident_kib"; cat "$PARTIAL"-shardsweep{,-secure}.csv; } >"$PARTIAL.csv"
  # The next call measures anew.
  rm "$PARTIAL"-*.csv
  judge shardsweep "$PARTIAL.csv"
  judge shardsweep-secure "$PARTIAL.csv"
  [[ $cells != "$CELLS" ]] || mv "$PARTIAL.csv" "$PARTIAL.json" "$ROOT/results/malloc"
}

main "$@"
