#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs lusearch, which checks its own output, with each plan of a plugin, with and without
# compressed oops, and in the interpreter and C1 alone. Usage: test-heap.sh [PLUGIN...]     (default: stock)
set -euo pipefail
cd "$(dirname "$0")"
source ./lib.sh
source ./check.sh

JAVA=$OUT/jdk/bin/java
PLANS=(SemiSpace MarkSweep MarkCompact Immix)
[[ -x $JAVA ]] || die "there is no $JAVA: run \`make jdk\` first"
[[ -e $OUT/lusearch.jar ]] || die "there is no build/lusearch.jar: run \`make lusearch\` first"
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# passes PLUGIN PLAN OPTION...: runs lusearch in a heap in which every plan has to collect many times.
passes() {
  local plugin=$1 plan=$2
  shift 2
  says '===== DaCapo .* lusearch PASSED in [0-9]+ msec =====' timeout 300 "$JAVA" -XX:+UseThirdPartyHeap \
    -XX:ThirdPartyHeapPlugin="$plugin" -XX:ThirdPartyHeapOptions=plan="$plan" -Xms64m -Xmx64m "$@" \
    -jar "$OUT/lusearch.jar" -s small -n 2 -t 8 --scratch-directory "$WORK/scratch" lusearch
}

(($#)) || set -- stock
for plugin in "$@"; do
  for plan in "${PLANS[@]}"; do
    check "$plugin, $plan" passes "$plugin" "$plan"
    check "$plugin, $plan, without compressed oops" passes "$plugin" "$plan" -XX:-UseCompressedOops
  done
  check "$plugin, interpreter alone" passes "$plugin" MarkSweep -Xint
  check "$plugin, C1 alone" passes "$plugin" MarkSweep -XX:TieredStopAtLevel=1
done
finish
