#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# A build of C++: make builds so many of the test programs of snmalloc, a library of templates, and the library that they are linked
# with, two commands at a time. Prints a checksum of the programs.
set -euo pipefail

SOURCE=$(cd "$(dirname "$0")/../snmalloc" && pwd)
# Each folder is a program. One has a library beside it, and is left out.
PROGRAMS=()
for folder in "$SOURCE"/test/func/*; do
  [[ $folder == */dll_teardown ]] || PROGRAMS+=("${folder##*/}")
done

(($# == 2 && $2 >= 1 && $2 <= ${#PROGRAMS[@]})) || {
  echo "usage: cxx-build THREADS PROGRAMS, with 1 to ${#PROGRAMS[@]} programs" >&2
  exit 1
}
PROGRAMS=("${PROGRAMS[@]:0:$2}")
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# shellcheck disable=SC2016 # variables of make
makefile() {
  echo "COMPILE = g++ -std=c++20 -O0 -DNDEBUG -DSNMALLOC_USE_WAIT_ON_ADDRESS=1 -mcx16 -I '$SOURCE'"
  echo "all: ${PROGRAMS[*]}"
  printf 'library.o:\n\t$(COMPILE) -c -o $@ %s\n' "'$SOURCE/test/snmalloc_testlib.cc'"
  local program file
  for program in "${PROGRAMS[@]}"; do
    local objects=()
    for file in "$SOURCE/test/func/$program"/*.cc; do
      objects+=("$program-$(basename "$file" .cc).o")
      printf '%s:\n\t$(COMPILE) -c -o $@ %s\n' "${objects[-1]}" "'$file'"
    done
    printf '%s: %s library.o\n\tg++ -o $@ $^ -pthread -latomic\n' "$program" "${objects[*]}"
  done
}

makefile >"$WORK/Makefile"
make -C "$WORK" -j2 --silent
(cd "$WORK" && cat "${PROGRAMS[@]}") | cksum | sed 's/^/cxx-build: /'
