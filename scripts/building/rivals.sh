#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Builds build/malloc/librpmalloc.so and libsnmalloc.so, to preload, from the sources in the crates that malloc/rivals names, and links
# build/malloc/snmalloc to those of the latter, which a benchmark compiles.
# Usage: rivals.sh
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
source ./rust.sh

MANIFEST=$ROOT/malloc/rivals/Cargo.toml
FLAGS=(-O3 -DNDEBUG -fPIC -ftls-model=initial-exec -shared -pthread)

main() {
  local rpmalloc snmalloc
  need_packages gcc g++ libc6-dev python3
  need_rust
  mkdir -p "$OUT/malloc"
  rpmalloc=$(crate_folder "$MANIFEST" rpmalloc-sys)/rpmalloc/rpmalloc
  run_logged "$OUT/log/librpmalloc.log" gcc -std=gnu11 "${FLAGS[@]}" -D_GNU_SOURCE -DENABLE_PRELOAD=1 -DENABLE_OVERRIDE=1 \
    -o "$OUT/malloc/librpmalloc.so.part" "$rpmalloc/rpmalloc.c"
  mv "$OUT/malloc/librpmalloc.so"{.part,}
  snmalloc=$(crate_folder "$MANIFEST" snmalloc-sys)/upstream/src
  run_logged "$OUT/log/libsnmalloc.log" g++ -std=c++20 "${FLAGS[@]}" -DSNMALLOC_USE_WAIT_ON_ADDRESS=1 -mcx16 -fvisibility=hidden \
    -static-libstdc++ -I "$snmalloc" -o "$OUT/malloc/libsnmalloc.so.part" "$snmalloc"/snmalloc/override/{malloc,new}.cc
  mv "$OUT/malloc/libsnmalloc.so"{.part,}
  ln -sfn "$snmalloc" "$OUT/malloc/snmalloc"
  say "build/malloc/librpmalloc.so and libsnmalloc.so are ready"
}

main
