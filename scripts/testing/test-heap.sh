#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs lusearch, which checks its own output, on builds and plans, in a heap in which each of them has to collect many times: with and
# without compressed oops, and for MarkSweep in the interpreter and in C1 alone.
# With DEBUG=fastdebug, on every check that there is: HotSpot's asserts, those of mmtk-core and of the plugin, mmtk-core's sanity
# collector, which traces the heap once more after each collection, and HotSpot's, by which all that is reachable has to be marked; and a
# collection every 4 MB.
# Usage: test-heap.sh [BUILD:PLAN...]
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
source ./check.sh

JDK=$(jdk_folder)
JAVA=$JDK/bin/java
need_benchmark "$JDK"
VERIFY=(-XX:+UnlockDiagnosticVMOptions -XX:+VerifyAfterGC -XX:VerifySubSet=heap)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# A collection every 4 MB.
STRESS=stress_factor=4000000

# passes BUILD HEAP_OPTIONS ITERATIONS THREADS JVM_OPTION...
passes() {
  local build=$1 heap_options=$2 iterations=$3 threads=$4 least=20 pauses
  [[ $heap_options != *"$STRESS" ]] || least=80
  shift 4
  rm -f "$WORK/gc.log"
  says '===== DaCapo .* lusearch PASSED in [0-9]+ msec =====' timeout --foreground 300 "$JAVA" -XX:+UseThirdPartyHeap \
    -XX:ThirdPartyHeapPlugin="$build" -XX:ThirdPartyHeapOptions="$heap_options" -Xms64m -Xmx64m "-Xlog:gc:file=$WORK/gc.log" "$@" \
    -jar "$OUT/lusearch.jar" -s small -n "$iterations" -t "$threads" --scratch-directory "$WORK/scratch" lusearch || return 1
  pauses=$(grep -c 'Pause ' "$WORK/gc.log") || true
  ((pauses >= least)) || { echo "only $pauses pauses:"; cat "$WORK/gc.log"; return 1; }
}

# marks BUILD PLAN: the same on a plan that marks in full pauses alone when a stress test asks for collections.
marks() {
  passes "$1" plan="$2" 1 4 "${VERIFY[@]}" &&
    { grep -q 'Pause Final Mark' "$WORK/gc.log" || { echo "no concurrent marking:"; cat "$WORK/gc.log"; return 1; }; }
}

# modes BUILD PLAN
modes() {
  check "$1, $2" passes "$1" plan="$2" 2 8
  check "$1, $2, without compressed oops" passes "$1" plan="$2" 2 8 -XX:-UseCompressedOops
  [[ $2 == MarkSweep ]] || return 0
  check "$1, interpreter alone" passes "$1" plan="$2" 2 8 -Xint
  check "$1, C1 alone" passes "$1" plan="$2" 2 8 -XX:TieredStopAtLevel=1
}

if [[ ${DEBUG:-} == fastdebug ]]; then
  if ! (($#)); then
    # A stress test charges whole blocks, and compiled code has no buffers in it: these runs are without.
    check "immix-page-sanity, Immix" passes immix-page-sanity plan=Immix 1 4 -Xms16m -Xmx16m
    for plan in SemiSpace MarkCompact GenCopy; do check "stock-sanity, $plan" passes stock-sanity plan="$plan" 1 4 -Xms32m -Xmx32m; done
    check "ms-64k-sanity, MarkSweep, checks in compiled code" passes ms-64k-sanity plan=MarkSweep 1 4 -XX:+VerifyOops
    for build in stock-sanity immix-page-sanity; do check "$build, ConcurrentImmix" marks "$build" ConcurrentImmix; done
    set -- stock-sanity:{SemiSpace,MarkSweep,MarkCompact,Immix,GenCopy,GenImmix,StickyImmix} \
      ms-64k-sanity:{MarkSweep,StickyMarkSweep,ConcurrentMarkSweep} immix-page-sanity:{Immix,StickyImmix}
  fi
  for run in "$@"; do
    check "${run%:*}, ${run#*:}, stress" passes "${run%:*}" plan="${run#*:}","$STRESS" 1 4 "${VERIFY[@]}"
  done
else
  if ! (($#)); then
    # On a malloc library, once: mmtk-core's own mark-sweep is not what is tested here, but that the library serves it.
    check "malloc-shardsweep, MarkSweep" passes malloc-shardsweep plan=MarkSweep 2 8
    set -- stock:{SemiSpace,MarkSweep,MarkCompact,Immix,GenCopy,GenImmix,StickyImmix,ConcurrentImmix} \
      ms-64k:{MarkSweep,StickyMarkSweep,ConcurrentMarkSweep}
  fi
  for run in "$@"; do modes "${run%:*}" "${run#*:}"; done
fi
finish
