# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Checks for tests written in bash: each prints a line, all go on after a failure, and `finish` says how it went. And files with a line for
# each of many runs. Sourced, after lib.sh.

forget_mmtk_options

CHECKS=0
FAILURES=0

# need_build_and_plan TEXT: dies unless it names a build and a plan, as ms-64k:MarkSweep.
need_build_and_plan() { [[ $1 == *:* ]] || die "$1 is not a build and a plan, as ms-64k:MarkSweep"; }

# check NAME COMMAND...: passes if the command does.
check() {
  local name=$1 output
  shift
  CHECKS=$((CHECKS + 1))
  if output=$("$@" 2>&1); then
    echo "ok: $name"
  else
    FAILURES=$((FAILURES + 1))
    echo "FAILED: $name"
    # The cause may stand at either end.
    if (($(wc -l <<<"$output") <= 40)); then
      echo "$output"
    else
      head -n 20 <<<"$output"
      echo "[...]"
      tail -n 20 <<<"$output"
    fi
  fi
}

# says REGEX COMMAND...: succeeds if the command does and a line of what it prints matches.
says() {
  local regex=$1 output
  shift
  output=$("$@" 2>&1) || { echo "exit code $?: $output"; return 1; }
  grep -Eq -- "$regex" <<<"$output" || { echo "no line matches '$regex': $output"; return 1; }
}

# refuses REGEX COMMAND...: succeeds if the command exits with 1 and one line of what it prints matches.
refuses() {
  local regex=$1 output status=0
  shift
  output=$("$@" 2>&1) || status=$?
  [[ $status == 1 ]] || { echo "exit code $status, not 1: $output"; return 1; }
  [[ $(grep -Ec -- "$regex" <<<"$output") == 1 ]] || { echo "not exactly one line matches '$regex': $output"; return 1; }
}

# equal A B: succeeds if both texts are the same.
equal() { [[ $1 == "$2" ]] || { printf 'got "%s", not "%s"\n' "$1" "$2"; return 1; }; }

# begin_runs FOLDER HEADER RUNS ARGUMENT...: makes the folder's runs.csv and machine.json, of which shardsweep.machine has the arguments,
# unless they are of this machine, commit and command, with fewer than that many runs.
begin_runs() {
  local folder=$1 header=$2 runs=$3
  shift 3
  mkdir -p "$folder"
  # shellcheck disable=SC2046 # an option, or nothing
  if resumes "$folder/machine.json" "$@" $(committed "$folder") && (($(wc -l <"$folder/runs.csv") <= runs)); then return; fi
  echo "$header" >"$folder/runs.csv"
  begins "$folder/machine.json"
}

# finish: prints the summary; fails if a check did, or if there was none.
finish() {
  echo "$(basename "$0" .sh): $((CHECKS - FAILURES)) of $CHECKS checks passed"
  ((FAILURES == 0 && CHECKS > 0))
}
