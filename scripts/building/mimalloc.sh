#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Builds build/mimalloc/libmimalloc<name>.so from published source. The versions are those of the plugin's builds: 1 is in the crate
# mimalloc-sys, 2 is Debian's, 3 is in the crate libmimalloc-sys.
#   1, 3                   to preload (2 is in Debian's libmimalloc2.0)
#   3-secure               the same in secure mode
#   1-4kblock, 2-4kblock   for plugins: blocks of 4 KiB in place of 64 KiB, as Sinclair's report has it (section 3.1); defines no malloc
# Leaves alone what is up to date.
# Usage: mimalloc.sh NAME...
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
source ./apt.sh
source ./rust.sh

fetch_1() {
  local from
  from=$(crate_folder "$ROOT/Cargo.toml" mimalloc-sys)
  cp -r "$from/mimalloc" "$1"
}

fetch_3() {
  local from
  from=$(crate_folder "$ROOT/mmtk/mimalloc3/Cargo.toml" libmimalloc-sys)
  cp -r "$from/c_src/mimalloc/v3" "$1"
}

# fetch_2 TO: the source package of Debian's libmimalloc2.0.
fetch_2() {
  # Its index need not be one of those that are missing.
  private_update || true
  mkdir "$1"
  (cd "$1" && run_logged "$OUT/log/mimalloc2-fetch.log" private_apt apt-get source --download-only --only-source mimalloc)
  tar -xf "$1"/mimalloc_*.orig.tar.* -C "$1" --strip-components=1
  rm "$1"/mimalloc_*
}

# set_shift FILE NAME VALUE: gives a constant of mimalloc's header another value.
set_shift() {
  local found
  found=$(grep -cE "^#define $2 " "$1") || true
  # Version 2 has one of them twice: for 64 and for 32 bits.
  [[ $found == [12] ]] || die "mimalloc's header defines $2 $found times"
  sed -i -E "s/^(#define $2 +).*/\1($3)/" "$1"
}

# made_from: one digest of what says which source is built, and how.
made_from() { cat "$ROOT/Cargo.lock" "$ROOT/mmtk/mimalloc3/Cargo.lock" mimalloc.sh | sha256sum; }

build() { # NAME
  local name=$1 version=${1%%-*} work=$OUT/mimalloc/source-$1 library=$OUT/mimalloc/libmimalloc$1.so from header
  local -a flags=()
  from=$(made_from)
  if [[ -e $library && $(cat "$library.from" 2>/dev/null) == "$from" ]]; then return; fi
  rm -rf "$work"
  "fetch_$version" "$work"
  header=$work/include/mimalloc-types.h
  case $name in
    # Blocks of 4 KiB, medium pages and segments of 128 KiB.
    1-4kblock)
      set_shift "$header" MI_SMALL_PAGE_SHIFT 12
      set_shift "$header" MI_MEDIUM_PAGE_SHIFT 17
      set_shift "$header" MI_LARGE_PAGE_SHIFT 17
      ;;
    # Blocks of 4 KiB, medium pages of 512 KiB, segments of 4 MiB.
    2-4kblock)
      set_shift "$header" MI_SEGMENT_SLICE_SHIFT 12
      set_shift "$header" MI_MEDIUM_PAGE_SHIFT 19
      set_shift "$header" MI_SEGMENT_SHIFT 22
      ;;
    *)
      flags+=(-DMI_MALLOC_OVERRIDE -fno-builtin-malloc)
      # Its MI_SECURE_FULL: hidden links, checks of double frees, random order, and a page without access at the end of each of its pages.
      [[ $name != *-secure ]] || flags+=(-DMI_SECURE=5)
      ;;
  esac
  run_logged "$OUT/log/libmimalloc$name.log" gcc -std=gnu11 -O3 -DNDEBUG -DMI_SHARED_LIB -DMI_SHARED_LIB_EXPORT "${flags[@]}" -fPIC \
    -ftls-model=initial-exec -fvisibility=hidden -shared -I "$work/include" -I "$work/src" -o "$work/library.so" \
    "$work/src/static.c" -pthread -ldl -lrt
  put_file "$work/library.so" "$library"
  echo "$from" >"$library.from"
  say "build/mimalloc/libmimalloc$name.so is ready"
}

main() {
  local name
  (($#)) || die "which build? mimalloc.sh NAME..., with 1, 3, 3-secure, 1-4kblock or 2-4kblock"
  for name; do
    [[ $name =~ ^([13]|3-secure|[12]-4kblock)$ ]] || die "there is no build '$name' of mimalloc: 1, 3, 3-secure, 1-4kblock, 2-4kblock"
  done
  need_packages gcc libc6-dev python3
  need_rust
  ./patch-crate.sh
  mkdir -p "$OUT/mimalloc" "$OUT/log"
  lock_file "$OUT/mimalloc/lock"
  for name; do build "$name"; done
}

main "$@"
