#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs the programs of benchmarks/ side by side in one JVM for hours, with class loaders that come and go, in a small heap. Records
# what the JVM holds, and ends with a verdict: whether each of these stays level. Interrupted, it judges what there is.
# Leaves in build/soak/NAME: soak.csv, machine.json, log, gc.log, verdict.txt, and soak.png and soak.svg, the plots.
# Usage: soak.sh HOURS     (0.1 for six minutes). Variables:
#   PLUGIN, PLAN   what to run on (default: ms-64k and the plugin's default); PLUGIN=none: HotSpot's own default collector
#   HEAP           MiB of the heap (default: 270)
#   JAVA_OPTIONS   more options
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh

forget_mmtk_options

HOURS=${1:-}
PLUGIN=${PLUGIN:-ms-64k}
HEAP=${HEAP:-270}
JDK=$OUT/jdk
TO=$OUT/soak/$(basename "$PLUGIN" .so)${PLAN:+-$PLAN}-${HEAP}m
read -ra OPTIONS <<<"${JAVA_OPTIONS:-}"

[[ $HOURS =~ ^[0-9]*\.?[0-9]+$ ]] || die "say for how many hours: soak.sh 2"
[[ $HEAP =~ ^[1-9][0-9]*$ ]] || die "HEAP=$HEAP is not a number of MiB"
need_benchmark "$JDK"
[[ $PLUGIN == none || -e $PLUGIN ]] || need_plugin "$JDK" "$PLUGIN"
../experiments/venv.sh
[[ $PLUGIN == none ]] ||
  OPTIONS+=(-XX:+UseThirdPartyHeap "-XX:ThirdPartyHeapPlugin=$PLUGIN" ${PLAN:+"-XX:ThirdPartyHeapOptions=plan=$PLAN"})
mkdir -p "$OUT/soak"
lock_or_die "$TO.lock" "another soak writes to ${TO#"$ROOT"/}: wait for it, or choose another plugin, plan or heap"
plugins=("$PLUGIN")
[[ $PLUGIN != none ]] || plugins=()
# Before the results of an earlier run go.
"$JDK/bin/java" "-Xmx${HEAP}m" "${OPTIONS[@]}" -version >/dev/null || die "the JVM does not start with these options: ${OPTIONS[*]}"
"$OUT/venv/bin/python" -m shardsweep.machine "$TO.json" "$JDK" "${plugins[@]}"
rm -rf "$TO"
mkdir -p "$TO/classes"
mv "$TO.json" "$TO/machine.json"
"$JDK/bin/javac" -cp "$OUT/lusearch.jar" -d "$TO/classes" soak/Soak.java

seconds=$(awk "BEGIN { print int($HOURS * 3600) }")
say "$seconds seconds in $HEAP MiB; results in ${TO#"$ROOT"/}"
"$JDK/bin/java" "-Xmx${HEAP}m" "${OPTIONS[@]}" "-XX:ErrorFile=$TO/hs_err" "-Xlog:gc:file=$TO/gc.log" -cp "$OUT/lusearch.jar:$TO/classes" \
  Soak "$seconds" "$TO/soak.csv" "$TO/scratch" "$OUT/lusearch.jar" >"$TO/log" 2>&1 &
java=$!
interrupted=
trap 'interrupted=yes; kill "$java" 2>/dev/null || true' INT TERM
status=0
# A signal ends the first wait; the JVM ends then.
wait "$java" || status=$?
[[ ! $interrupted ]] || wait "$java" || true
rm -rf "$TO/scratch"
[[ $interrupted || $status == 0 ]] || die "the JVM ended with exit code $status: $(tail -n 5 "$TO/log")"
"$OUT/venv/bin/python" -m shardsweep.soak "$TO/soak.csv" | tee "$TO/verdict.txt"
