#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs OpenJDK's own tests, and those of openjdk/test, on the third-party heap. Run by `make jtreg`. Variables:
#   TESTS         full (default) or ci: the lists in scripts/testing/jtreg; or paths of tests or folders; or jdk, the list that takes hours:
#                 it is run in pieces, goes on where it was interrupted, and compares failures (see jtreg-pieces.sh)
#   FOLDERS       with TESTS=jdk: only these of the list's folders, or folders below them
#   PLUGIN        build of the plugin (default: ms-64k); none: HotSpot's own default collector, to compare with
#   PLAN          mmtk-core's plan (default: the plugin's), or PLAN,OPTION=VALUE... with more of mmtk-core's options
#   DEBUG         fastdebug: the JDK with HotSpot's checks
#   JAVA_OPTIONS  more options for every JVM under test
#   JOBS          tests at once; default: as many as there are processors
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
source ./jtreg-suites.sh
source ./jtreg-retarget.sh
source ./jtreg-native.sh
source ./jtreg-pieces.sh

forget_mmtk_options

JDK=$(jdk_folder)
PLUGIN=${PLUGIN:-ms-64k}
RUN=$OUT/jtreg/$(basename "$JDK")-$(basename "$PLUGIN" .so)${PLAN:+-$PLAN}
[[ ${TESTS:-} != jdk ]] || RUN=$RUN-pieces

read -ra OWN_OPTIONS <<<"${JAVA_OPTIONS:-}"
OPTIONS=("${OWN_OPTIONS[@]}")
if [[ $PLUGIN != none ]]; then
  OPTIONS=(-XX:+UseThirdPartyHeap -XX:ThirdPartyHeapPlugin="$PLUGIN" ${PLAN:+-XX:ThirdPartyHeapOptions=plan="$PLAN"} "${OPTIONS[@]}")
fi

# plugin_file: prints the file of the plugin, found by name or given by path; nothing for HotSpot's own collector.
plugin_file() {
  local file=$JDK/lib/mmtk/libmmtk_$PLUGIN.so
  [[ -e $file ]] || file=$PLUGIN
  [[ $PLUGIN == none ]] || echo "$file"
}

check_input() {
  [[ ${JOBS:-1} =~ ^[1-9][0-9]*$ ]] || die "JOBS=$JOBS is not a number of tests: give 1 or more"
  find_suites "$JDK"
  NATIVE=$OUT/jtreg/native-$(basename "$IMAGE")
  [[ $PLUGIN == none || -e $PLUGIN ]] || need_plugin "$JDK" "$PLUGIN"
  "$JDK/bin/java" "${OPTIONS[@]}" -version >/dev/null || die "the JVM does not start with these options"
}

# run_jtreg FOLDER JAVA_OPTIONS ARGUMENT...: runs jtreg with its work and report in FOLDER; the tests are among the arguments.
# Test programs are compiled on an unmodified JDK, so that a failure points at the JVM under test alone.
run_jtreg() {
  local folder=$1 java_options=$2
  shift 2
  "$IMAGE/bin/java" -jar /usr/share/jtreg/lib/jtreg.jar -agentvm -automatic -ignore:quiet -retain:fail,error \
    -verbose:summary -concurrency:"${JOBS:-$(nproc)}" -timeoutFactor:4 \
    -jdk:"$JDK" -compilejdk:"$IMAGE" -nativepath:"$NATIVE" -javaoptions:"$java_options" \
    -workDir:"$folder/work" -reportDir:"$folder/report" "${excludes[@]}" "$@"
}

# run_tests FOLDER JAVA_OPTIONS ARGUMENT...: as run_jtreg, but dies if jtreg itself fails.
run_tests() {
  local status=0
  run_jtreg "$@" || status=$?
  # Passed, nothing selected, failures, errors.
  ((status <= 3)) || die "jtreg ended with status $status"
  return "$status"
}

# was_run TEST...: dies if one that is named by its file was left out.
was_run() {
  local test
  for test in "$@"; do
    [[ $test != *.java ]] || grep -Eq "(^|/)${test##*/}(#\S+)? " "$RUN/report/text/summary.txt" ||
      die "$test was not run: its @requires, or a ProblemList, leaves it out"
  done
}

run_selected() {
  local asked selected tests status=0
  mkdir -p "$RUN"
  retarget
  read -ra asked <<<"${TESTS:-full}"
  selected=$(selected_tests "${asked[@]}")
  rm -rf "$RUN/work" "$RUN/report"
  mapfile -t tests <<<"$selected"
  build_native "$NATIVE" "$JDK" "${tests[@]}"
  say "${#tests[@]} tests or folders on ${JDK#"$ROOT"/}, plugin $PLUGIN${PLAN:+, plan $PLAN}; results in ${RUN#"$ROOT"/}"
  run_tests "$RUN" "${OPTIONS[*]}" "${tests[@]}" || status=$?
  was_run "${asked[@]}"
  ((status == 0)) || die "not all tests passed: see ${RUN#"$ROOT"/}/report/text/summary.txt, logs in ${RUN#"$ROOT"/}/work"
}

# A function, so that bash has read all of this file before a long run starts and the file may change meanwhile.
main() {
  check_input
  need_packages jtreg7 gcc g++ libc6-dev libnuma1
  mkdir -p "$OUT/jtreg"
  lock_or_die "$RUN.lock" "another run writes to ${RUN#"$ROOT"/}: wait for it, or choose another plan or plugin"
  mapfile -t excludes < <(problem_lists | sed 's/^/-exclude:/')
  if [[ ${TESTS:-} == jdk ]]; then run_pieces jdk; else run_selected; fi
}

main "$@"
