# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A long list of tests in pieces, one for each line of the list, so that a run that was interrupted goes on where it stopped. What
# fails is run again with HotSpot's own default collector: only what passes there counts as a failure. Sourced by jtreg.sh.
#
# RUN has a folder for each piece: `work` and `report` as jtreg makes them, those of the comparison in `none`, and `verdicts`, a line
# for each test, which ends the piece. Remove it to have the piece run again.

# read_results FOLDER TEST: prints "Passed", "Failed" or "Error" and the name of each test that was run in FOLDER, in this or an earlier run.
read_results() {
  local status=0
  rm -rf "$1/report"
  run_jtreg "$1" "" -reportOnly "$2" >"$1/report.log" 2>&1 || status=$?
  # Nothing selected: there is no report then.
  ((status != 1)) || return 0
  [[ -e $1/report/text/summary.txt ]] || die "jtreg reports nothing on $2: see $1/report.log"
  sed -nE 's/^(.*[^ ]) +(Passed|Failed|Error)\..*$/\2 \1/p' "$1/report/text/summary.txt"
}

# run_part FOLDER JAVA_OPTIONS TEST...: runs those of the tests that FOLDER has no result of. Dies if jtreg itself does.
run_part() {
  mkdir -p "$1"
  run_tests "$1" "$2" -status:notRun,error "${@:3}" || true
}

# selects_collector FOLDER NAME: whether that test failed because it selects another collector beside the one under test.
selects_collector() {
  local file=${2/.java/}
  grep -q 'cannot be combined with another collector' "$1/work/${file/\#/_}.jtr" 2>/dev/null
}

# judge FOLDER SUITE TEST: writes the verdict on each test of a piece that has been run: "passed", "collector" (it selects another one),
# "elsewhere" (it fails with HotSpot's own too) or "FAILED".
judge() {
  local folder=$1 suite=$2 result name failed=() elsewhere
  read_results "$folder" "$3" >"$folder/results"
  while read -r result name; do
    if [[ $result == Passed ]]; then
      echo "passed $name"
    elif selects_collector "$folder" "$name"; then
      echo "collector $name"
    else
      failed+=("$name")
    fi
  done <"$folder/results" >"$folder/verdicts.tmp"
  if ((${#failed[@]})); then
    say "${#failed[@]} failures: the same tests with HotSpot's own collector"
    (run_part "$folder/none" "${OWN_OPTIONS[*]}" "${failed[@]/#/$suite/}") >"$folder/none.log" 2>&1 ||
      die "the same tests could not be run with HotSpot's own collector: see ${folder#"$ROOT"/}/none.log"
    elsewhere=$(read_results "$folder/none" "$3" | sed -n '/^Passed /!s/^[^ ]* //p')
    for name in "${failed[@]}"; do
      if grep -qxF -- "$name" <<<"$elsewhere"; then echo "elsewhere $name"; else echo "FAILED $name"; fi
    done >>"$folder/verdicts.tmp"
  fi
  mv "$folder/verdicts.tmp" "$folder/verdicts"
}

# summarize NAME...: a line a piece, then what failed.
summarize() {
  local name verdicts verdict
  printf '%-44s %10s %10s %10s %10s\n' folder passed failed elsewhere collector
  for name in "$@"; do
    verdicts=$RUN/$name/verdicts
    printf '%-44s' "$name"
    for verdict in passed FAILED elsewhere collector; do printf ' %10s' "$(grep -c "^$verdict " "$verdicts" || true)"; done
    echo
  done
  for name in "$@"; do sed -n "s|^FAILED |failed: |p" "$RUN/$name/verdicts"; done
}

# pieces LIST: prints suite and path of each piece: the lines of the list, or what FOLDERS names of them or below them. Dies where one
# of FOLDERS is in none of them.
pieces() {
  local suite path folder root found=" "
  while read -r suite path; do
    [[ ${FOLDERS:-} ]] || echo "$suite $path"
    root=$(suite_folder "$1" "$suite")
    for folder in ${FOLDERS:-}; do
      if [[ $folder/ == "$path"/* && -e $root/$folder ]]; then
        echo "$suite $folder"
        found+="$folder "
      fi
    done
  done < <(list_lines "$1")
  for folder in ${FOLDERS:-}; do
    [[ $found == *" $folder "* ]] || die "FOLDERS: $(basename "$1") has no $folder"
  done
}

# tested: what the verdicts in RUN are on: the digests of the JVM and the plugin, and the options.
tested() {
  local file
  file=$(plugin_file)
  sha256sum "$JDK/lib/server/libjvm.so" ${file:+"$file"}
  echo "${OPTIONS[*]}"
}

# check_tested: dies if RUN has verdicts on another JVM or plugin, or with other options.
check_tested() {
  if [[ ! -e $RUN/tested ]]; then
    mkdir -p "$RUN"
    tested >"$RUN/tested.part"
    mv "$RUN/tested.part" "$RUN/tested"
  fi
  tested | cmp -s - "$RUN/tested" || die "${RUN#"$ROOT"/} has verdicts on another JVM or plugin, or with other options: remove it"
}

# run_pieces LIST: runs the pieces of the list that have no verdicts yet, and sums up all of them.
run_pieces() {
  local list=$PWD/jtreg/$1.txt suite path test name names=() chosen
  check_tested
  # Before the pieces are chosen: it makes one of the suites that they are in.
  retarget
  chosen=$(pieces "$list")
  while read -r suite path <&3; do
    test=$(listed_test "$list" "$suite" "$path")
    name=$suite-${path//\//-}
    names+=("$name")
    if [[ -e $RUN/$name/verdicts ]]; then continue; fi
    build_native "$NATIVE" "$JDK" "$test"
    say "$suite/$path"
    run_part "$RUN/$name" "${OPTIONS[*]}" "$test"
    judge "$RUN/$name" "${test%"/$path"}" "$test"
  done 3<<<"$chosen"
  summarize "${names[@]}" | tee "$RUN/summary.txt"
  ! grep -q '^failed: ' "$RUN/summary.txt" || die "tests that pass without the third-party heap failed: logs in ${RUN#"$ROOT"/}/*/work"
}
