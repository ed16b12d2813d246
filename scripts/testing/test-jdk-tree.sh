#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Tests how the tree to compile is made (jdk-tree.sh), on a source of three files, which version is chosen, and what the scripts say to bad
# input.
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
source ./check.sh
source ../building/jdk-fetch.sh
source ../building/jdk-tree.sh

SCRIPTS=$(dirname "$PWD")
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
SOURCE=$WORK/source
TREE=$WORK/tree
ROOT=$WORK/checkout
CACHE=$WORK/cache
OPENJDK_NAME="OpenJDK test"

mkdir -p "$SOURCE/src/hotspot" "$SOURCE/make" "$ROOT/openjdk/patches" "$ROOT/openjdk/src/hotspot/gc"
printf '%s\n' one two three >"$SOURCE/src/hotspot/patched.cpp"
echo same >"$SOURCE/src/hotspot/same.cpp"
echo make >"$SOURCE/make/Main.gmk"
echo ours >"$ROOT/openjdk/src/hotspot/gc/ours.cpp"

# write_patch NAME FILE OLD NEW: a patch that replaces the second of FILE's lines one, OLD, three.
write_patch() {
  printf -- '--- a/%s\n+++ b/%s\n@@ -1,3 +1,3 @@\n one\n-%s\n+%s\n three\n' "$2" "$2" "$3" "$4" >"$ROOT/openjdk/patches/$1.patch"
}

lay() { make_layer "$SOURCE" "$WORK/layer" && lay_over "$WORK/layer" "$SOURCE" "$TREE"; }

# A subshell, for `die` exits.
layer_alone() { (make_layer "$SOURCE" "$WORK/layer"); }

newer() { find "$TREE" -type f -newer "$WORK/mark" -printf '%P\n' | LC_ALL=C sort | paste -sd' '; }

write_patch 0001-first src/hotspot/patched.cpp two 2
copy_tree "$SOURCE" "$TREE" >/dev/null
lay
check "a patch is applied" equal "$(paste -sd' ' "$TREE/src/hotspot/patched.cpp")" "one 2 three"
check "a file of ours is laid over" equal "$(<"$TREE/src/hotspot/gc/ours.cpp")" ours
check "the source stays as it was" equal "$(paste -sd' ' "$SOURCE/src/hotspot/patched.cpp")" "one two three"

find "$TREE" -type f -exec touch -d '1 minute ago' {} +
touch -d '30 seconds ago' "$WORK/mark"
lay
check "nothing changed, nothing is written" equal "$(newer)" ""
echo "ours, changed" >"$ROOT/openjdk/src/hotspot/gc/ours.cpp"
lay
check "what changed alone is written" equal "$(newer)" "src/hotspot/gc/ours.cpp"

write_patch 0002-second src/hotspot/patched.cpp 2 zwei
lay
check "patches build on each other" equal "$(paste -sd' ' "$TREE/src/hotspot/patched.cpp")" "one zwei three"

rm "$ROOT"/openjdk/patches/*.patch
rm -r "$ROOT/openjdk/src/hotspot/gc"
lay
check "without patches and files of ours the tree is the source" diff -r "$SOURCE" "$TREE"
echo src/hotspot/gc/ours.cpp >"$TREE.layer"
check "what an interrupted run has removed already is no error" equal "$(set -e; lay 2>&1; echo laid)" laid

write_patch 0001-first src/hotspot/patched.cpp deux 2
check "a hunk that does not match is named" \
  refuses '0001-first.patch does not apply to OpenJDK test: src/hotspot/patched.cpp, hunk #1' layer_alone
write_patch 0001-first src/hotspot/absent.cpp two 2
check "a file that is not there is named" \
  refuses '0001-first.patch does not apply to OpenJDK test: src/hotspot/absent.cpp, which is not in this source' layer_alone
echo "no patch" >"$ROOT/openjdk/patches/0001-first.patch"
check "what is no patch is named" refuses '0001-first.patch does not apply' layer_alone
rm "$ROOT/openjdk/patches/0001-first.patch"

mkdir -p "$ROOT/openjdk/src/hotspot"
echo user >"$SOURCE/src/hotspot/new.cpp"
echo "ours again" >"$ROOT/openjdk/src/hotspot/same.cpp"
rm "$SOURCE/make/Main.gmk"
mirror_tree "$SOURCE" "$TREE"
lay
check "a user's tree is mirrored, deletions too" equal "$(cd "$TREE" && find . -type f -printf '%P\n' | LC_ALL=C sort | paste -sd' ')" \
  "src/hotspot/new.cpp src/hotspot/patched.cpp src/hotspot/same.cpp"
touch -d '30 seconds ago' "$WORK/mark"
find "$TREE" -type f -exec touch -d '1 minute ago' {} +
mirror_tree "$SOURCE" "$TREE"
lay
check "mirroring leaves our files alone" equal "$(newer)" ""

mkdir -p "$CACHE/downloads/"{17.0.9+9-1,17.0.19+10-1~deb12u2,17.0.19+10-1~deb12u10,17.0.19+10-1~deb12u1}
choose_version 17.0.19
check "of the versions in the cache that fit the newest is chosen" equal "$VERSION" "17.0.19+10-1~deb12u10"

check "an unknown level is refused" refuses 'DEBUG=slow is no level' env DEBUG=slow "$SCRIPTS/building/jdk.sh"
check "a source tree that is none is refused" refuses 'OPENJDK_SRC=/ is no source tree' env OPENJDK_SRC=/ "$SCRIPTS/building/jdk.sh"
check "a wrong number of jobs is refused" refuses 'JOBS=many is not a number' env JOBS=many "$SCRIPTS/building/jdk.sh"
check "an unknown step of the tests is refused" refuses "there is no step 'nothing'" "$SCRIPTS/testing/test.sh" nothing
finish
