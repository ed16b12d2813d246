#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Puts the crate mmtk, with the patches of mmtk/patches/ applied, into build/patch/, where Cargo.toml expects it. Cargo does nothing in this
# checkout before that. Leaves it alone where it is up to date.
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
source ./rust.sh

CRATE=mmtk
VERSION=0.33.0
# Of the .crate file, as crates.io has it.
CHECKSUM=1bd27cb1b9a32c2ac03e7e45175f0d74f8fce419729011aa5b47ed7d2553622e
PATCHES=("$ROOT"/mmtk/patches/*.patch)
WORK=$OUT/patch/work
TARGET=$OUT/patch/$CRATE-$VERSION

# crate_file: prints where cargo keeps the crate, if it is there and intact; nothing otherwise.
crate_file() {
  local file
  for file in "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/"$CRATE-$VERSION.crate"; do
    if sha256sum --check --status <<<"$CHECKSUM  $file" 2>/dev/null; then
      echo "$file"
      break
    fi
  done
}

# fetch_crate: has cargo download the crate, for an empty package that depends on it.
fetch_crate() {
  mkdir -p "$WORK/src"
  : >"$WORK/src/lib.rs"
  printf '[package]\nname = "fetch"\nversion = "0.0.0"\n[workspace]\n[dependencies]\n%s = "=%s"\n' "$CRATE" "$VERSION" >"$WORK/Cargo.toml"
  run_logged "$OUT/log/fetch-$CRATE.log" cargo fetch --manifest-path "$WORK/Cargo.toml"
}

# apply_patches: patches the fresh crate in WORK; a patch that does not fit exactly is an error that names its hunk.
apply_patches() {
  local patch output
  for patch in "${PATCHES[@]}"; do
    output=$(patch --directory="$WORK/$CRATE-$VERSION" --strip=1 --fuzz=0 --batch --forward --no-backup-if-mismatch <"$patch" 2>&1) ||
      die "mmtk/patches/$(basename "$patch") does not fit $CRATE $VERSION: $(grep -E 'FAILED|No file' <<<"$output" | head -n 1)"
  done
}

# is_patched STAMP: whether the crate is there with these patches.
is_patched() { [[ $(cat "$TARGET/.patched" 2>/dev/null) == "$1" ]]; }

main() {
  local stamp file
  stamp=$(cat "${PATCHES[@]}" | sha256sum)
  if is_patched "$stamp"; then return; fi
  need_packages patch
  need_rust
  mkdir -p "$OUT/patch"
  lock_file "$OUT/patch/lock"
  # Another run may have done it while this one waited.
  if is_patched "$stamp"; then return; fi
  rm -rf "$WORK"
  file=$(crate_file)
  if [[ -z $file ]]; then
    fetch_crate
    file=$(crate_file)
  fi
  [[ -n $file ]] || die "the crate $CRATE $VERSION that cargo fetched is not the published one (sha256 $CHECKSUM): remove it from cargo's registry/cache"
  mkdir -p "$WORK"
  tar -xzf "$file" -C "$WORK"
  apply_patches
  echo "$stamp" >"$WORK/$CRATE-$VERSION/.patched"
  rm -rf "$TARGET"
  mv "$WORK/$CRATE-$VERSION" "$TARGET"
  rm -rf "$WORK"
  say "build/patch/$CRATE-$VERSION is ready"
}

main "$@"
