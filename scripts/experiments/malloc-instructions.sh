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
source ./malloc-libraries.sh
forget_malloc_options

PAIRS=100000

# instructions LIBRARY PAIRS: of the whole program.
instructions() {
  local said
  said=$(LD_PRELOAD=$1 valgrind --tool=callgrind --callgrind-out-file="$OUT/malloc/callgrind.out" "$OUT/malloc/pairs" 1 "$2" 2>&1) || return
  # Without the library the program runs on the C library's.
  [[ $said != *"cannot be preloaded"* ]] || return 1
  sed -n 's/.*Collected : *//p' <<<"$said"
}

main() {
  local each name library once twice to=$ROOT/results/malloc partial=$OUT/malloc/instructions
  need_packages gcc libc6-dev valgrind
  ./venv.sh
  build_ours
  build_others
  mkdir -p "$OUT/malloc" "$to"
  gcc -std=gnu11 -O2 -fno-builtin -Wall -Wextra -Werror -o "$OUT/malloc/pairs" "$ROOT/malloc/benchmarks/pairs.c" -pthread
  "$OUT/venv/bin/python" -m shardsweep.machine "$partial.json" --committed
  echo "allocator,instructions" >"$partial.csv"
  for each in "${LIBRARIES[@]}"; do
    name=${each%%=*} library=${each#*=}
    [[ $name != snmalloc ]] || continue
    once=$(instructions "$library" $PAIRS) || true
    twice=$(instructions "$library" $((2 * PAIRS))) || true
    [[ $once =~ ^[0-9]+$ && $twice =~ ^[0-9]+$ ]] || die "callgrind does not count on $name"
    awk -v name="$name" -v more=$((twice - once)) -v pairs=$PAIRS 'BEGIN { printf "%s,%.1f\n", name, more / pairs }' >>"$partial.csv"
  done
  mv "$partial.json" "$partial.csv" "$to"
  cat "$to/instructions.csv"
}

main
