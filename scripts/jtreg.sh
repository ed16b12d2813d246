#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs OpenJDK's own tests, and those of openjdk/test, on the third-party heap. Run by `make jtreg`. Variables:
#   TESTS         full (default) or ci: the lists in scripts/jtreg; or paths of tests or folders
#   PLUGIN        build of the plugin (default: stock); none: HotSpot's own default collector, to compare with
#   PLAN          mmtk-core's plan (default: the plugin's)
#   DEBUG         fastdebug: the JDK with HotSpot's checks
#   JAVA_OPTIONS  more options for every JVM under test
#   JOBS          tests at once; default: as many as there are processors
set -euo pipefail
cd "$(dirname "$0")"
source ./lib.sh
source ./jtreg-suites.sh
source ./jtreg-retarget.sh

JDK=$OUT/jdk${DEBUG:+-$DEBUG}
[[ ${DEBUG:-} != release ]] || JDK=$OUT/jdk
PLUGIN=${PLUGIN:-stock}
RUN=$OUT/jtreg/$(basename "$JDK")-$(basename "$PLUGIN" .so)${PLAN:+-$PLAN}

read -ra options <<<"${JAVA_OPTIONS:-}"
if [[ $PLUGIN != none ]]; then
  options=(-XX:+UseThirdPartyHeap -XX:ThirdPartyHeapPlugin="$PLUGIN" ${PLAN:+-XX:ThirdPartyHeapOptions=plan="$PLAN"} "${options[@]}")
fi

check_input() {
  [[ -x $JDK/bin/java ]] || die "there is no ${JDK#"$ROOT"/}: run \`make jdk${DEBUG:+ DEBUG=$DEBUG}\` first"
  find_suites "$JDK"
  local file=$JDK/lib/mmtk/libmmtk_$PLUGIN.so
  [[ $PLUGIN == none || -e $file || -e $PLUGIN ]] || die "there is no plugin $PLUGIN: run \`make plugin BUILD=$PLUGIN\` first"
  "$JDK/bin/java" "${options[@]}" -version >/dev/null || die "the JVM does not start with these options"
}

# Our problem list says why each test is in it; the other two are OpenJDK's, of tests that it knows to fail anywhere.
exclude_options() {
  local list
  for list in "$ROOT/openjdk/test/ProblemList.txt" "$HOTSPOT_SUITE/ProblemList.txt" "$JDK_SUITE/ProblemList.txt"; do
    if [[ -e $list ]]; then echo "-exclude:$list"; fi
  done
}

# A function, so that bash has read all of this file before a long run starts and the file may change meanwhile.
main() {
  check_input
  need_packages jtreg7 gcc libc6-dev
  mkdir -p "$OUT/jtreg"
  exec {RUN_FD}>"$RUN.lock"
  flock -n "$RUN_FD" || die "another run writes to ${RUN#"$ROOT"/}: wait for it, or choose another plan or plugin"
  rm -rf "$RUN"
  mkdir -p "$RUN"
  retarget
  read -ra asked <<<"${TESTS:-full}"
  selected=$(selected_tests "${asked[@]}")
  mapfile -t tests <<<"$selected"
  build_native "$RUN/native" "$JDK" "${tests[@]}"
  say "${#tests[@]} tests or folders on ${JDK#"$ROOT"/}, plugin $PLUGIN${PLAN:+, plan $PLAN}; results in ${RUN#"$ROOT"/}"
  mapfile -t excludes < <(exclude_options)
  status=0
  # Test programs are compiled on an unmodified JDK, so that a failure points at the JVM under test alone.
  "$IMAGE/bin/java" -jar /usr/share/jtreg/lib/jtreg.jar -agentvm -automatic -ignore:quiet -retain:fail,error \
    -verbose:summary -concurrency:"${JOBS:-$(nproc)}" -timeoutFactor:4 \
    -jdk:"$JDK" -compilejdk:"$IMAGE" -nativepath:"$RUN/native" -javaoptions:"${options[*]}" \
    -workDir:"$RUN/work" -reportDir:"$RUN/report" "${excludes[@]}" "${tests[@]}" || status=$?
  ((status == 0)) || die "not all tests passed: see ${RUN#"$ROOT"/}/report/text/summary.txt, logs in ${RUN#"$ROOT"/}/work"
}

main "$@"
