#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Hunts for crashes: many short runs of lusearch, which checks its own output, with builds, plans, heap sizes, numbers of threads
# and options chosen at random, the same choice for the same SEED. A run has to pass; it may run out of memory only in a heap below
# ENOUGH + ENOUGH_PER_THREAD MiB for each thread. Logs of runs that are not right are kept in build/stress. A hunt that was
# interrupted goes on where it stopped, with the same command on the same commit.
# Usage: stress.sh [RUNS]     (default: 200). Variables:
#   PLANS              builds and plans to choose from, as ms-64k:MarkSweep (default: all that collect, of stock and ms-64k)
#   TO                 folder for runs.csv, with a line for each run, and machine.json, with machine, commit and command
#                      (default: build/stress, or with FIRST a folder in it)
#   SEED               start of the random choice (default: 1)
#   FIRST              number of the first run (default: 1): FIRST=57 stress.sh 1 repeats run 57
#   DEBUG              fastdebug: the JDK with HotSpot's checks
#   HEAP               MiB of the smallest heap; the largest is ten times as large (default: 24)
#   ENOUGH, ENOUGH_PER_THREAD   see above (default: 64 and 4)
#   TIMEOUT            seconds after which a run hangs (default: 180)
set -euo pipefail
# Where it is relative, it is so to where this was called.
TO=${TO:+$(realpath -m "$TO")}
cd "$(dirname "$0")"
source ../lib.sh
source ./check.sh

RUNS=${1:-200}
FIRST=${FIRST:-1}
SEED=${SEED:-1}
HEAP=${HEAP:-24}
ENOUGH=${ENOUGH:-64}
ENOUGH_PER_THREAD=${ENOUGH_PER_THREAD:-4}
TIMEOUT=${TIMEOUT:-180}
DEFAULT_PLANS=(
  stock:{SemiSpace,MarkSweep,MarkCompact,Immix,GenCopy,GenImmix,StickyImmix,ConcurrentImmix}
  ms-64k:{MarkSweep,StickyMarkSweep,ConcurrentMarkSweep}
)
read -ra PLANS <<<"${PLANS:-${DEFAULT_PLANS[*]}}"
TENTHS=(10 12 15 20 30 50 100)
THREADS=(1 2 4 8 24 50 100)
MODES=("" "" "" "-Xint" "-XX:TieredStopAtLevel=1" "-XX:-TieredCompilation" "-XX:ParallelGCThreads=1" "-XX:ParallelGCThreads=8")
JDK=$(jdk_folder)
JAR=$OUT/lusearch.jar
LOGS=$OUT/stress
# What repeats a run leaves the record of the hunt alone.
[[ $FIRST == 1 ]] || TO=${TO:-$LOGS/from-$FIRST}
TO=${TO:-$LOGS}
COMMAND="SEED=$SEED FIRST=$FIRST HEAP=$HEAP ENOUGH=$ENOUGH ENOUGH_PER_THREAD=$ENOUGH_PER_THREAD TIMEOUT=$TIMEOUT PLANS='${PLANS[*]}'"
COMMAND+="${DEBUG:+ DEBUG=$DEBUG} scripts/testing/stress.sh $RUNS"

[[ $RUNS =~ ^[1-9][0-9]*$ && $FIRST =~ ^[1-9][0-9]*$ && $SEED =~ ^[0-9]+$ ]] ||
  die "RUNS ($RUNS) and FIRST ($FIRST) have to be whole numbers from 1, SEED ($SEED) from 0"
[[ $HEAP =~ ^[1-9][0-9]*$ && $TIMEOUT =~ ^[1-9][0-9]*$ && $ENOUGH =~ ^[0-9]+$ && $ENOUGH_PER_THREAD =~ ^[0-9]+$ ]] ||
  die "HEAP ($HEAP) and TIMEOUT ($TIMEOUT) have to be whole numbers from 1, ENOUGH ($ENOUGH) and ENOUGH_PER_THREAD ($ENOUGH_PER_THREAD) from 0"
need_benchmark "$JDK"
for run in "${PLANS[@]}"; do
  need_build_and_plan "$run"
  # The build may be a path.
  [[ -e ${run%:*} ]] || need_plugin "$JDK" "${run%:*}"
  "$JDK/bin/java" -XX:+UseThirdPartyHeap "-XX:ThirdPartyHeapPlugin=${run%:*}" "-XX:ThirdPartyHeapOptions=plan=${run##*:}" \
    -version >/dev/null || die "the JVM does not start with $run"
done
mkdir -p "$LOGS"
lock_file "$LOGS/.lock"
../experiments/venv.sh

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# pick RUN WHAT COUNT: prints a number from 0 to COUNT-1 that depends on SEED, RUN and WHAT alone, so that any run can be repeated.
pick() {
  local digest
  digest=$(sha256sum <<<"$SEED $1 $2")
  echo $((16#${digest:0:12} % $3))
}

# choose RUN: sets PLUGIN, PLAN, HEAP_MIB, THREAD_COUNT and OPTIONS.
choose() {
  # They take turns, so that each has its share.
  local run=${PLANS[$1 % ${#PLANS[@]}]}
  PLUGIN=${run%:*}
  PLAN=${run##*:}
  HEAP_MIB=$((HEAP * TENTHS[$(pick "$1" heap ${#TENTHS[@]})] / 10))
  THREAD_COUNT=${THREADS[$(pick "$1" threads ${#THREADS[@]})]}
  OPTIONS=(-XX:+UseThirdPartyHeap "-XX:ThirdPartyHeapPlugin=$PLUGIN" "-XX:ThirdPartyHeapOptions=plan=$PLAN" "-Xmx${HEAP_MIB}m")
  if (($(pick "$1" fixed 2))); then OPTIONS+=("-Xms${HEAP_MIB}m"); fi
  if (($(pick "$1" oops 2))); then OPTIONS+=(-XX:-UseCompressedOops); fi
  local mode=${MODES[$(pick "$1" mode ${#MODES[@]})]}
  if [[ $mode ]]; then OPTIONS+=("$mode"); fi
}

# lacks_heap LOG: succeeds if the Java heap was full, as sweeps judge it; a lack of other memory is something else.
lacks_heap() { "$OUT/venv/bin/python" -c 'import sys; from shardsweep import logs; sys.exit(not logs.OUT_OF_MEMORY.search(sys.stdin.read()))' <"$1"; }

# verdict LOG STATUS: prints what became of a run: passed, out of memory, wrong output, crash, hang, or failed. From 193 on a status
# is of no signal: the benchmark says 255.
verdict() {
  local log=$1 status=$2
  if grep -qE '^===== DaCapo .* PASSED in [0-9]+ msec =====' "$log" && ((status == 0)); then
    echo passed
  elif compgen -G "$WORK/run/hs_err*" >/dev/null || ((status > 128 && status < 193 && status != 137)); then
    echo crash
  elif ((status == 124 || status == 137)); then
    echo hang
  elif lacks_heap "$log"; then
    echo "out of memory"
  elif grep -qiE 'digest|FAILED' "$log"; then
    echo "wrong output"
  else
    echo failed
  fi
}

# one RUN: runs it; sets VERDICT and RIGHT.
one() {
  local log=$WORK/run/log status=0
  choose "$1"
  rm -rf "$WORK/run"
  mkdir -p "$WORK/run"
  # A run that hangs shows its stacks before it is killed.
  (cd "$WORK/run" && timeout --foreground --signal=QUIT --kill-after=10 "$TIMEOUT" "$JDK/bin/java" "${OPTIONS[@]}" -XX:-CreateCoredumpOnCrash \
    -jar "$JAR" -s small -n 1 -t "$THREAD_COUNT" --scratch-directory "$WORK/run/scratch" lusearch) >"$log" 2>&1 </dev/null || status=$?
  VERDICT=$(verdict "$log" "$status")
  RIGHT=no
  [[ $VERDICT != passed ]] || RIGHT=yes
  [[ $VERDICT != "out of memory" ]] || ((HEAP_MIB >= ENOUGH + ENOUGH_PER_THREAD * THREAD_COUNT)) || RIGHT=yes
  if [[ $RIGHT == no ]]; then
    rm -rf "${LOGS:?}/run-$1" "$WORK/run/scratch"
    mkdir -p "$LOGS"
    cp -r "$WORK/run" "$LOGS/run-$1"
    echo "${OPTIONS[*]} -t $THREAD_COUNT: $VERDICT, exit code $status" >"$LOGS/run-$1/command"
  fi
}

# A function, so that bash has read all of this file before a long run starts and the file may change meanwhile.
main() {
  local run failed
  begin_runs "$TO" "run,build,plan,heap_mib,threads,options,seconds,verdict,right" "$RUNS" "$JDK" "${PLANS[@]%:*}" --command "$COMMAND"
  for ((run = FIRST; run < FIRST + RUNS; run++)); do
    local started=$SECONDS
    if grep -q "^$run," "$TO/runs.csv"; then continue; fi
    one "$run"
    echo "$run,$PLUGIN,$PLAN,$HEAP_MIB,$THREAD_COUNT,${OPTIONS[*]:4},$((SECONDS - started)),$VERDICT,$RIGHT" >>"$TO/runs.csv"
    say "run $run, $((SECONDS - started)) s: $VERDICT$([[ $RIGHT == yes ]] || echo " (log in build/stress/run-$run)"): ${OPTIONS[*]:1} -t $THREAD_COUNT"
  done
  tail -n +2 "$TO/runs.csv" | cut -d, -f8 | sort | uniq -c | while read -r count verdict; do say "$verdict: $count"; done
  failed=$(grep -c ',no$' "$TO/runs.csv" || true)
  say "$((RUNS - failed)) passed, $failed failed"
  ((failed == 0))
}

main
exit
