#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs the tests of scripts/testing/jcstress with jcstress: what threads see of each other's objects, in the interpreter, in C1 and in C2,
# with and without biased locking, in a heap that is collected all the time. Leaves a page for each plan in build/jcstress. Interrupted, the
# same command on the same commit goes on with the plan that it was at.
# Usage: jcstress.sh [BUILD:PLAN...]     (default: our plans, and mmtk-core's GenImmix and ConcurrentImmix). Variables:
#   MODE   jcstress's: sanity, quick (default: some minutes a plan), default, tough or stress
#   TESTS  regular expression of their names (default: all)
#   TO     folder for runs.csv, with a line for each plan, and machine.json, with machine, commit and command (default: build/jcstress)
set -euo pipefail
# Where it is relative, it is so to where this was called.
TO=${TO:+$(realpath -m "$TO")}
cd "$(dirname "$0")"
source ../lib.sh
source ./check.sh

JDK=$OUT/jdk
MODE=${MODE:-quick}
TO=${TO:-$OUT/jcstress}
[[ $MODE =~ ^(sanity|quick|default|tough|stress)$ ]] || die "MODE is '$MODE': say sanity, quick, default, tough or stress"
need_jdk "$JDK"
(($#)) || set -- ms-64k:{MarkSweep,StickyMarkSweep,ConcurrentMarkSweep} stock:{GenImmix,ConcurrentImmix}
for run in "$@"; do
  need_build_and_plan "$run"
  need_plugin "$JDK" "${run%:*}"
done
../experiments/venv.sh
need_packages maven openjdk-17-jdk-headless
mkdir -p "$TO" "$OUT/jcstress"
lock_file "$OUT/jcstress/.lock"
run_logged "$OUT/log/jcstress.log" mvn --batch-mode --no-transfer-progress -f jcstress/pom.xml clean package
begin_runs "$TO" "build,plan,results" $# "$JDK" "${@%:*}" --command "MODE=$MODE TESTS=${TESTS:-.} scripts/testing/jcstress.sh $*"

# measured BUILD PLAN: has jcstress run, and adds a line to runs.csv.
measured() {
  local to=$OUT/jcstress/$1-$2 results
  mkdir -p "$to"
  (cd "$to" && "$JDK/bin/java" -jar "$ROOT/scripts/testing/jcstress/target/jcstress.jar" -m "$MODE" -hs 64 -r page -t "${TESTS:-.}" \
    -jvmArgsPrepend "-XX:+UseThirdPartyHeap -XX:ThirdPartyHeapPlugin=$1 -XX:ThirdPartyHeapOptions=plan=$2") >"$to/log" 2>&1 ||
    { tail -n 15 "$to/log"; return 1; }
  results=$(sed -n 's/^(Results: \(.*\))$/\1/p' "$to/log" | tail -n 1)
  echo "$1,$2,${results//,/;}" >>"$TO/runs.csv"
}

# passes BUILD PLAN: jcstress leaves out a configuration of the JVM that does not start, and says so.
passes() {
  local log=$OUT/jcstress/$1-$2/log results
  grep -q "^$1,$2," "$TO/runs.csv" || measured "$1" "$2" || return
  results=$(sed -n "s/^$1,$2,//p" "$TO/runs.csv")
  echo "$results in ${log#"$ROOT"/}"
  [[ -e $log ]] && ! grep -F 'N/A' "$log" && [[ $results =~ ^([1-9][0-9]*)\ planned\;\ ([0-9]+)\ passed\;\ 0\ failed\;\ 0\ soft\ errs\;\ 0\ hard\ errs ]] &&
    [[ ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]]
}

for run in "$@"; do
  say "${run%:*}, ${run#*:}; progress in ${OUT#"$ROOT"/}/jcstress/${run/:/-}/log"
  check "${run%:*}, ${run#*:}" passes "${run%:*}" "${run#*:}"
done
finish
