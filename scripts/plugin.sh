#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Builds plugins and puts them, each with a JSON that describes it, into lib/mmtk of every JDK in build/.
# Usage: plugin.sh --all | NAME...      (the names are those of mmtk/builds.toml)
set -euo pipefail
cd "$(dirname "$0")"
source ./lib.sh
source ./rust.sh

TARGET=$OUT/cargo

# The commit that the checkout is at, marked if files differ from it.
source_revision() {
  git -C "$ROOT" describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || echo "no commit"
}

# build_plugin NAME: builds it and installs it.
build_plugin() {
  local name=$1 description=$TARGET/$1.json library jdk cargo
  cargo=$(./builds.py cargo "$name")
  local -a arguments
  mapfile -t arguments <<<"$cargo"
  case $name in
    malloc-jemalloc*) need_packages make ;;
    malloc-mimalloc1*) need_packages cmake ;;
    malloc-mimalloc2*) need_packages libmimalloc2.0 ;;
  esac
  say "building $name"
  (cd "$ROOT" && run_logged "$TARGET/$name.log" env SHARDSWEEP_BUILD="$name" cargo build --lib --target-dir "$TARGET" "${arguments[@]}")
  ./builds.py describe "$name" "$(source_revision)" >"$description"
  library=$TARGET/${arguments[3]}/libshardsweep_mmtk.so
  for jdk in "$OUT"/jdk "$OUT"/jdk-fastdebug; do
    [[ -x $jdk/bin/java ]] || continue
    put_file "$library" "$jdk/lib/mmtk/libmmtk_$name.so"
    put_file "$description" "$jdk/lib/mmtk/libmmtk_$name.json"
    say "${jdk#"$ROOT"/}/lib/mmtk/libmmtk_$name.so is ready"
  done
}

# A function, so that bash has read all of this file before a long run starts and the file may change meanwhile.
main() {
  [[ $# -gt 0 && -n $1 ]] || die "which build? \`make plugin BUILD=name\`, with a name of mmtk/builds.toml"
  [[ -x $OUT/jdk/bin/java || -x $OUT/jdk-fastdebug/bin/java ]] || die "there is no JDK to put plugins into: run \`make jdk\` first"
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
  exec {PLUGIN_FD}>"$TARGET/plugins.lock"
  flock "$PLUGIN_FD"
  for name in "$@"; do build_plugin "$name"; done
}

main "$@"
