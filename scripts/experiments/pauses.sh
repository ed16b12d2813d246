#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Prints where the time of a pause goes, as a table: the mean of each part over all pauses of lusearch with 24 threads and -Xmx200m.
# Usage: pauses.sh [JAVA_OPTION...]     such as -XX:ThirdPartyHeapOptions=plan=StickyMarkSweep
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
forget_mmtk_options

JDK=$OUT/jdk
need_benchmark "$JDK"

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
run_logged "$OUT/log/pauses.log" "$JDK/bin/java" -XX:+UseThirdPartyHeap -Xmx200m "-Xlog:gc,gc+phases=debug:file=$WORK/log:tags:filecount=0" "$@" \
  -jar "$OUT/lusearch.jar" -n 8 -t 24 lusearch

# A line of a part is `[gc,phases] GC(3) Weak Roots 0.123ms`, with two more blanks before the name of a kind.
awk '
  { milliseconds = substr($NF, 1, length($NF) - 2) }
  /^\[gc,phases *\]/ {
    part = $0
    sub(/^[^)]*\) /, "", part)
    sub(/ [^ ]*$/, "", part)
    if (!(part in sum)) parts[++count] = part
    sum[part] += milliseconds
  }
  /^\[gc *\] GC\(.* Pause / { pauses++; total += milliseconds }
  function row(part, sum) {
    sub(/^  /, "\\&ensp; ", part)
    printf "| %s | %.3f | %.0f %% |\n", part, sum / pauses, 100 * sum / total
  }
  END {
    if (!pauses) { print "pauses: error: the run had no pause" >"/dev/stderr"; exit 1 }
    print "| part | ms | of the pause |\n|---|--:|--:|"
    for (i = 1; i <= count; i++) row(parts[i], sum[parts[i]])
    row("the pause, mean of " pauses, total)
  }' "$WORK/log"
