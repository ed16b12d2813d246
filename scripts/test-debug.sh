#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs lusearch with every check that there is: HotSpot's asserts, those of mmtk-core and of the plugin, mmtk-core's sanity collector,
# which traces the heap once more after each collection, and a collection every 4 MB. Usage: test-debug.sh [BUILD:PLAN...]
set -euo pipefail
cd "$(dirname "$0")"
source ./lib.sh
source ./check.sh

JAVA=$OUT/jdk-fastdebug/bin/java
[[ -x $JAVA ]] || die "there is no $JAVA: run \`make jdk DEBUG=fastdebug\` first"
[[ -e $OUT/lusearch.jar ]] || die "there is no build/lusearch.jar: run \`make lusearch\` first"
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

passes() {
  local build=$1 plan=$2
  says '===== DaCapo .* lusearch PASSED in [0-9]+ msec =====' timeout 300 "$JAVA" -XX:+UseThirdPartyHeap \
    -XX:ThirdPartyHeapPlugin="$build" -XX:ThirdPartyHeapOptions=plan="$plan",stress_factor=4000000 -Xms64m -Xmx64m \
    -jar "$OUT/lusearch.jar" -s small -n 1 -t 4 --scratch-directory "$WORK/scratch" lusearch
}

(($#)) || set -- stock-sanity:{SemiSpace,MarkSweep,MarkCompact,Immix}
for run in "$@"; do
  check "${run%:*}, ${run#*:}, stress" passes "${run%:*}" "${run#*:}"
done
finish
