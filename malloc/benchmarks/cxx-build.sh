#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# A build of C++: g++ compiles as many files as there are operations of snmalloc, a library of templates, one after the other. Prints
# a checksum of the code.
set -euo pipefail

SOURCE=$(dirname "$0")/../snmalloc
FILES=(malloc new rust)

(($# == 2 && $2 >= 1 && $2 <= ${#FILES[@]})) || {
  echo "usage: cxx-build THREADS FILES, with 1 to ${#FILES[@]} files" >&2
  exit 1
}
for file in "${FILES[@]:0:$2}"; do
  g++ -std=c++20 -O2 -DNDEBUG -DSNMALLOC_USE_WAIT_ON_ADDRESS=1 -mcx16 -I "$SOURCE" -S -o - "$SOURCE/snmalloc/override/$file.cc"
done | cksum | sed 's/^/cxx-build: /'
