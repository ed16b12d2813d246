#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Tests the lists of scripts/testing/jtreg: each line names a test or folder that exists, and of which something runs.
# Usage: test-jtreg-lists.sh, after `make jdk`.
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
source ./check.sh
source ./jtreg-suites.sh
source ./jtreg-retarget.sh

RUN=$(mktemp -d)
trap 'rm -rf "$RUN"' EXIT
find_suites "$OUT/jdk"
retarget

for list in jtreg/*.txt; do
  check "$list names tests that run" selected_tests "$(basename "$list" .txt)"
done

# own_folders: prints the folders of our own tests that are quick enough for CI.
own_folders() { cd "$OWN_SUITE" && find . -mindepth 2 -name '*.java' -printf '%h\n' | cut -d/ -f2 | sort -u | grep -vx -e lib -e largeheaps; }

check "ci.txt names each folder of our own tests but largeheaps" diff <(own_folders) <(sed -n 's/^own //p' jtreg/ci.txt)

HOTSPOT_SUITE=$RUN/hotspot
mkdir -p "$HOTSPOT_SUITE/gc/some" "$HOTSPOT_SUITE/gc/none"
echo '/* @test */' | tee "$HOTSPOT_SUITE/gc/some/A.java" "$HOTSPOT_SUITE/gc/some/B.java" "$HOTSPOT_SUITE/gc/none/C.java" >/dev/null
printf '%s\n' 'gc/some/A.java 1234567 generic-all' 'gc/none/C.java 1234567 generic-all' >"$HOTSPOT_SUITE/ProblemList.txt"

check "a folder of which one test runs may be listed" listed_test a.txt hotspot gc/some
mkdir "$HOTSPOT_SUITE/gc/empty"
check "a folder without a test may not be listed" refuses 'there is no test' listed_test a.txt hotspot gc/empty
check "a test that is excluded may not be listed" refuses 'ProblemList excludes' listed_test a.txt hotspot gc/some/A.java
check "a folder of which no test runs may not be listed" refuses 'ProblemList excludes' listed_test a.txt hotspot gc/none
check "a folder is found in each suite that has it" equal "$(find_test gc)" "$RETARGETED_SUITE/gc"$'\n'"$HOTSPOT_SUITE/gc"
check "a test is found once" equal "$(find_test gc/some/B.java)" "$HOTSPOT_SUITE/gc/some/B.java"
OWN_SUITE=$RUN/own
mkdir "$OWN_SUITE"
echo 'gc/some/B.java 1234567 generic-all' >"$OWN_SUITE/ProblemList-Some.txt"
check "what the list of another plan excludes may be listed" listed_test a.txt hotspot gc/some/B.java
PLAN=Some
check "what the list of the plan excludes may not be listed" refuses 'ProblemList excludes' listed_test a.txt hotspot gc/some/B.java
finish
