#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Tests what the JVM says to bad input: one line that names what is wrong, exit code 1, no hs_err file.
# Usage: test-bad-input.sh [JDK]       Variable: PLUGIN, the build to give bad options to (default: stock)
set -euo pipefail
jdk=${1:+$(realpath -m "$1")}
cd "$(dirname "$0")"
source ../lib.sh
source ./check.sh

JDK=${jdk:-$OUT/jdk}
JAVA=$JDK/bin/java
PLUGIN=${PLUGIN:-stock}
need_jdk "$JDK"
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# one_line REGEX OPTION...: succeeds if the JVM, started with the options, refuses as described above.
one_line() {
  local regex=$1 output status=0
  shift
  output=$(cd "$WORK" && "$JAVA" -XX:+UseThirdPartyHeap "$@" -version 2>&1) || status=$?
  [[ $status == 1 ]] || { echo "exit code $status, not 1: $output"; return 1; }
  [[ $(wc -l <<<"$output") == 1 ]] || { echo "more than one line: $output"; return 1; }
  grep -Eq -- "$regex" <<<"$output" || { echo "does not match '$regex': $output"; return 1; }
  equal "$(find "$WORK" -name 'hs_err*' -o -name 'core*')" ""
}

# Libraries that are no plugin of ours.
need_packages gcc libc6-dev
echo 'int nothing;' | gcc -shared -o "$WORK/stranger.so" -x c -
echo 'const unsigned third_party_heap_abi_version = 999999;' | gcc -shared -o "$WORK/future.so" -x c -
echo 'this is text' >"$WORK/text.so"

good=-XX:ThirdPartyHeapPlugin=$PLUGIN
check "missing plugin" one_line "there is no .*libmmtk_nothing.so.*$PLUGIN" -XX:ThirdPartyHeapPlugin=nothing
check "missing plugin, by path" one_line "there is no $WORK/nothing.so" -XX:ThirdPartyHeapPlugin="$WORK/nothing.so"
check "no name" one_line 'ThirdPartyHeapPlugin= is empty' -XX:ThirdPartyHeapPlugin=
check "no library" one_line 'text.so is not a plugin' -XX:ThirdPartyHeapPlugin="$WORK/text.so"
check "another library" one_line 'stranger.so is not a plugin' -XX:ThirdPartyHeapPlugin="$WORK/stranger.so"
check "another ABI" one_line 'ABI version 999999, this JVM expects [0-9]+' -XX:ThirdPartyHeapPlugin="$WORK/future.so"
check "unknown plan" one_line "unknown plan 'Nonsense'.*Immix" "$good" -XX:ThirdPartyHeapOptions=plan=Nonsense
MMTK_PLAN=Nonsense check "unknown plan in the environment" one_line "unknown plan 'Nonsense'.*Immix" "$good"
check "unknown option" one_line "unknown option 'nonsense'.*threads" "$good" -XX:ThirdPartyHeapOptions=nonsense=1
check "malformed option" one_line "malformed option 'plan'" "$good" -XX:ThirdPartyHeapOptions=plan
check "malformed value" one_line "malformed value 'many'" "$good" -XX:ThirdPartyHeapOptions=threads=many
check "processors that are not there" one_line "'AllInSet:9000-9001' of option 'thread_affinity'" "$good" -XX:ThirdPartyHeapOptions=thread_affinity=AllInSet:9000-9001
check "an option that is not the user's" one_line "'side_metadata_base_address' cannot be set" "$good" -XX:ThirdPartyHeapOptions=side_metadata_base_address=5
check "heap below the minimum" one_line 'too small' "$good" -Xms4k -Xmx4k
check "heap beyond the address range" one_line 'too large' "$good" -Xmx9000000g
for collector in Serial Parallel G1 Z; do
  check "together with $collector" one_line 'another collector' "$good" "-XX:+Use${collector}GC"
done
finish
