#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Builds plugins and puts them, each with a JSON that describes it, into lib/mmtk of every JDK in build/.
# Usage: plugin.sh --all | NAME...      (the names are those of mmtk/builds.toml)
# With CARGO_TARGET_DIR it compiles there: two of different folders can run at once.
set -euo pipefail
# Where it is relative, it is so to where this was called.
TARGET=${CARGO_TARGET_DIR:+$(realpath -m "$CARGO_TARGET_DIR")}
cd "$(dirname "$0")"
source ../lib.sh
source ./rust.sh

TARGET=${TARGET:-$OUT/cargo}

# The JDKs in build/, a line each.
jdks() {
  local jdk
  for jdk in "$OUT"/jdk "$OUT"/jdk-fastdebug; do
    if [[ -x $jdk/bin/java ]]; then echo "$jdk"; fi
  done
}

# put_into_jdks FILE NAME: puts it under that name into lib/mmtk of each JDK.
put_into_jdks() {
  local jdk
  while read -r jdk; do put_file "$1" "$jdk/lib/mmtk/$2"; done < <(jdks)
}

# remove_from_jdks NAME: removes that file from lib/mmtk of each JDK.
remove_from_jdks() {
  local jdk
  while read -r jdk; do rm -f "$jdk/lib/mmtk/$1"; done < <(jdks)
}

# put_library FILE BUILDS: puts what these builds load beside them. The description of one that was built with another library goes.
put_library() {
  local jdk file
  file=$(basename "$1")
  while read -r jdk; do
    # shellcheck disable=SC2086 # the builds are a pattern
    cmp -s "$1" "$jdk/lib/mmtk/$file" || rm -f "$jdk"/lib/mmtk/libmmtk_$2.json
  done < <(jdks)
  put_into_jdks "$1" "$file"
}

# is_current NAME DESCRIPTION: whether each JDK has the plugin of that description. Cargo cannot tell: it keeps one build at a time.
is_current() {
  local jdk
  while read -r jdk; do
    [[ -e $jdk/lib/mmtk/libmmtk_$1.so ]] && cmp -s "$2" "$jdk/lib/mmtk/libmmtk_$1.json" || return 1
  done < <(jdks)
}

# build_mimalloc3: builds the library that the plugins malloc-mimalloc3* load, and installs it beside them.
build_mimalloc3() {
  local manifest=$ROOT/mmtk/mimalloc3/Cargo.toml
  run_logged "$TARGET/libmimalloc3.log" cargo build --locked --release --manifest-path "$manifest" --target-dir "$TARGET"
  put_library "$TARGET/release/libmimalloc3.so" "malloc-mimalloc3*"
}

# build_4kblock VERSION: builds mimalloc with blocks of 4 KiB, and installs it beside the plugin that loads it.
build_4kblock() {
  ./mimalloc.sh "$1-4kblock"
  put_library "$OUT/mimalloc/libmimalloc$1-4kblock.so" "malloc-mimalloc$1-4kblock"
}

# build_malloc: builds our malloc, and installs it beside the plugins malloc-shardsweep*. They use the names with a prefix alone.
build_malloc() {
  ./malloc.sh
  put_library "$OUT/libshardsweep_malloc.so" "malloc-shardsweep*"
}

# build_plugin NAME: builds it and installs it.
build_plugin() {
  local name=$1 description=$TARGET/$1.json cargo revision
  cargo=$(./builds.py cargo "$name")
  local -a arguments
  mapfile -t arguments <<<"$cargo"
  revision=$(source_revision)
  ./builds.py describe "$name" "$revision" >"$description"
  # Only a commit says which source it was.
  if [[ $revision =~ ^[0-9a-f]{40}$ ]] && is_current "$name" "$description"; then
    say "$name is up to date"
    return
  fi
  case $name in
    malloc-mimalloc[12]-4kblock) build_4kblock "${name:15:1}" ;;
    malloc-shardsweep*) build_malloc ;;
    malloc-jemalloc*) need_packages make ;;
    malloc-mimalloc1*) need_packages cmake ;;
    malloc-mimalloc2*) need_packages libmimalloc2.0 ;;
    malloc-mimalloc3*) build_mimalloc3 ;;
  esac
  say "building $name"
  (cd "$ROOT" && run_logged "$TARGET/$name.log" env SHARDSWEEP_BUILD="$name" cargo build --lib --target-dir "$TARGET" "${arguments[@]}")
  [[ $(source_revision) == "$revision" ]] || die "the checkout has changed while $name was built: build it again"
  # What an interrupted run leaves without a description is built again.
  remove_from_jdks "libmmtk_$name.json"
  put_into_jdks "$TARGET/${arguments[3]}/libshardsweep_mmtk.so" "libmmtk_$name.so"
  put_into_jdks "$description" "libmmtk_$name.json"
  say "lib/mmtk/libmmtk_$name.so is ready"
}

# A function, so that bash has read all of this file before a long run starts and the file may change meanwhile.
main() {
  [[ $# -gt 0 && -n $1 ]] || die "which build? \`make plugin BUILD=name\`, with a name of mmtk/builds.toml"
  [[ -n $(jdks) ]] || die "there is no JDK to put plugins into: run \`make jdk\` first"
  need_packages python3 gcc libc6-dev
  need_rust
  if [[ $1 == --all ]]; then
    names=$(./builds.py names)
    mapfile -t all <<<"$names"
    set -- "${all[@]}"
  fi
  for name in "$@"; do ./builds.py cargo "$name" >/dev/null; done
  ./patch-crate.sh
  mkdir -p "$TARGET"
  lock_file "$TARGET/plugins.lock"
  for name in "$@"; do build_plugin "$name"; done
}

main "$@"
