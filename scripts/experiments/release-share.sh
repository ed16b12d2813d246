#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What share of a pause the policy's own work takes: all that it does after marking, as the debug log has it. Runs lusearch
# in heaps of different sizes and prints a line for each.
# Usage: release-share.sh [HEAP...]     (default: 100m 1g). Variables:
#   PLUGIN      build of the plugin (default: ms-64k)
#   ITERATIONS  iterations of lusearch (default: 20); collections of the second half count, when compilers are mostly done:
#               their threads go on in a pause, and where there are no more processors than collector threads they stop one of these
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh

PLUGIN=${PLUGIN:-ms-64k}
ITERATIONS=${ITERATIONS:-20}
need_benchmark "$OUT/jdk"
[[ $ITERATIONS =~ ^[1-9][0-9]*$ ]] || die "ITERATIONS ($ITERATIONS) has to be a whole number from 1"

share() { # HEAP
  "$OUT/jdk/bin/java" -XX:+UseThirdPartyHeap -XX:ThirdPartyHeapPlugin="$PLUGIN" -Xms"$1" -Xmx"$1" -Xlog:gc=debug \
    -jar "$OUT/lusearch.jar" -n "$ITERATIONS" -t 24 lusearch 2>&1 | awk -v from=$((ITERATIONS / 2)) '
      /lusearch completed warmup/ { done++ }
      match($0, / release [0-9.]+ms/) { release = substr($0, RSTART + 9) + 0 }
      / Pause / && done >= from { print release, $NF + 0, release / ($NF + 0) }' |
    sort -g -k 3 | awk -v heap="$1" '
      { release += $1; pause += $2; share[NR] = $3 }
      END {
        if (!NR) exit 1
        printf "%s: %d collections, release %.1f ms of %.1f ms in pauses (%.1f %%); median share of a pause %.1f %%\n",
          heap, NR, release, pause, 100 * release / pause, 100 * share[int((NR + 1) / 2)]
      }' || die "lusearch made no collection that can be counted with -Xmx$1 and plugin $PLUGIN"
}

[[ $# -gt 0 ]] || set -- 100m 1g
for heap; do
  share "$heap"
done
