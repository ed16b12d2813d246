#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Builds build/lusearch.jar from benchmarks/; does nothing when it is there and no source has changed.
# Usage: lusearch.sh [--check]     (--check: builds nothing; whether it is so is the exit code)
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh

JAR=$OUT/lusearch.jar
STAMP=$OUT/lusearch.stamp

# sources: one digest of the names and contents of all that the jar is made of.
sources() {
  cd "$ROOT/benchmarks"
  find . -name target -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum
}

# stamp SOURCES: what is written beside a finished jar; a jar that was cut short or replaced does not fit it.
stamp() { printf '%s\n%s\n' "$1" "$(sha256sum <"$JAR")"; }

# current: whether the jar is there, whole, and made of the sources as they are.
current() { [[ -f $JAR && -f $STAMP ]] && stamp "$(sources)" | cmp -s - "$STAMP"; }

current && exit 0
[[ ${1:-} != --check ]] || exit 1
need_packages maven openjdk-17-jdk-headless
lock lusearch
# Another run may have built it while this one waited.
current && exit 0

before=$(sources)
say "building $JAR"
run_logged "$OUT/log/lusearch.log" \
  mvn --batch-mode --no-transfer-progress -f "$ROOT/benchmarks/pom.xml" -DskipTests clean package
rm -f "$STAMP"
put_file "$ROOT/benchmarks/dist/target/lusearch.jar" "$JAR"
# With the sources as they were before: those changed meanwhile make the next run build again.
stamp "$before" >"$STAMP.tmp"
mv -f "$STAMP.tmp" "$STAMP"
