#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures our malloc and others under the programs of malloc/benchmarks, in turn: time and peak resident memory. Leaves results.csv,
# tables.md, machine.json and plots in build/malloc/results. What is missing is built or installed. Interrupted, the same command
# goes on.
# Usage: malloc-bench.sh [OPTION...]
#   --rounds N, --threads 1,2, --programs larson,cfrac, --share 0.1, --minutes N   what to measure, and for how long
#   --folder DIR   in place of build/malloc/results
#   --record       when all is measured, keep it in results/malloc, if it has all runs that are kept there
#   --report       measure nothing: tables and plots of the folder again; nothing is built for it
set -euo pipefail
# Paths in the arguments are relative to where this was called: no change of directory here.
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
source "$ROOT/scripts/experiments/malloc-libraries.sh"

BENCH=$OUT/malloc/bench
LIBRARIES+=(bump="$BENCH/libbump.so")

build_programs() {
  local source name
  need_packages gcc g++ make libc6-dev
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
  local -a mallocs=("$OUT/venv/bin/python" -m shardsweep.mallocs --programs-in "$BENCH" --folder "$OUT/malloc/results" "$@")
  need_packages python3 python3-venv
  "$ROOT/scripts/experiments/venv.sh"
  case " $* " in
    *" --report "* | *" --help "* | *" -h "*) exec "${mallocs[@]}" ;;
  esac
  # Bad input is told before anything is built, and other libraries than the folder was measured with before the rest is.
  "${mallocs[@]}" --check
  build_ours
  "${mallocs[@]}" --check "${LIBRARIES[@]}"
  build_others
  build_programs
  "${mallocs[@]}" "${LIBRARIES[@]}"
}

main "$@"
