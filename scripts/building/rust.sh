# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Rust that is new enough. Sourced, after lib.sh.

# The oldest that mmtk 0.33 compiles with.
RUST_MINIMUM=1.84

# need_rust: makes sure of a cargo of RUST_MINIMUM or later. Debian 12 keeps a current one in the packages that it builds its browsers with.
need_rust() {
  local found
  found=$(cargo --version 2>/dev/null | cut -d' ' -f2) || true
  if [[ -z $found ]]; then
    need_packages rustc-web cargo-web ca-certificates
  elif [[ $(printf '%s\n' "$RUST_MINIMUM" "$found" | sort -V | head -n 1) != "$RUST_MINIMUM" ]]; then
    die "cargo $found is older than $RUST_MINIMUM: run \`rustup update\`, or \`apt-get install rustc-web cargo-web\` in place of rustc"
  fi
}

# crate_folder MANIFEST CRATE: where cargo has the crate that the lock file of the manifest fixes, which it has checked. Needs Python.
crate_folder() {
  local manifest
  manifest=$(cargo metadata --quiet --manifest-path "$1" --format-version 1 --all-features --locked |
    CRATE=$2 python3 -c 'import json, os, sys
print(*(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == os.environ["CRATE"]))')
  [[ -e $manifest ]] || die "cargo does not say where the crate $2 is"
  echo "${manifest%/*}"
}
