#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The preloaded malloc under its corner cases and under programs, each checked by its own output.
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh

LIBRARY=$OUT/libshardsweep_malloc.so
SECURE=$OUT/libshardsweep_malloc_secure.so
WORK=$OUT/malloc

# preloaded COMMAND...: runs it on our malloc, for two minutes at most.
preloaded() { LD_PRELOAD=$LIBRARY timeout 120 "$@"; }

# same NAME COMMAND...: the command says the same on our malloc as on the C library's.
same() {
  local name=$1
  shift
  "$@" >"$WORK/expected" 2>&1 || die "$name fails on the C library's malloc, too"
  preloaded "$@" >"$WORK/found" 2>&1 || die "$name fails on our malloc: $(tail -n 3 "$WORK/found")"
  cmp -s "$WORK/expected" "$WORK/found" || die "$name says something else on our malloc: $(diff "$WORK/expected" "$WORK/found" | head -n 5)"
  say "$name: the same"
}

corner_cases() {
  local name
  for name in $("$WORK/corners"); do
    preloaded "$WORK/corners" "$name" || die "corner case $name does not hold"
  done
  say "corner cases hold: $("$WORK/corners" | xargs)"
}

# What a program does wrong ends it in secure mode: by a line, or at a guard page.
secure() {
  local name line said status
  # The compiler sees some of what is wrong.
  gcc -std=gnu11 -O1 -Wall -Wextra -Werror -fno-builtin -Wno-use-after-free -Wno-free-nonheap-object \
    -o "$WORK/secure" "$ROOT/malloc/tests/secure.c" -pthread
  while read -r name line; do
    status=0
    said=$({ LIBRARY=$SECURE preloaded "$WORK/secure" "$name"; } 2>&1) || status=$?
    if [[ $line == "Segmentation fault" ]]; then
      [[ $status == 139 && -z $said ]]
    else
      [[ $status == 134 && $said =~ ^"$line 0x"[0-9a-f]+$ ]]
    fi || die "secure mode: $name should end with '$line'; it ends with code $status and '$said'"
  done < <("$WORK/secure")
  say "secure mode ends: $("$WORK/secure" | cut -d ' ' -f 1 | xargs)"
}

# The interface of shardsweep.h, in a program that is linked with the library.
header() {
  gcc -std=gnu11 -O1 -Wall -Wextra -Werror -I "$ROOT/malloc/include" -o "$WORK/header" "$ROOT/malloc/tests/header.c" \
    -L "$OUT" -lshardsweep_malloc -Wl,-rpath,"$OUT"
  timeout 120 "$WORK/header" || die "shardsweep.h does not do what it says"
  say "shardsweep.h: does what it says"
}

# The library reports that it served the program, so that no test passes without it.
serves() {
  local said
  said=$(SHARDSWEEP_SHOW_STATS=1 preloaded git --version 2>&1)
  [[ $said == *"shardsweep: blocks claimed "[1-9]* ]] || die "the library is not in use"
  if said=$(SHARDSWEEP_RESET_DELAY=soon preloaded git --version 2>&1); then
    die "a bad option is accepted"
  fi
  [[ $said == "shardsweep: SHARDSWEEP_RESET_DELAY is 'soon', which is not a whole number" ]] || die "a bad option is met by: $said"
}

rust_program() {
  cat <<'END'
use std::collections::HashMap;
fn main() {
  need_packages gcc libc6-dev python3 git sqlite3 redis-server redis-tools openjdk-17-jdk-headless libpython3.11-testsuite
  ../building/malloc.sh
  ../building/malloc.sh secure
  mkdir -p "$WORK"
  gcc -std=gnu11 -O1 -Wall -Wextra -Werror -o "$WORK/corners" "$ROOT/malloc/tests/corners.c" -pthread
  serves
  header
  secure
  for LIBRARY in "$LIBRARY" "$SECURE"; do
    say "on ${LIBRARY##*/}"
    corner_cases
    programs
    python_tests
    redis
  done
}

main
