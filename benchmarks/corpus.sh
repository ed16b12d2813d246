#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# corpus.sh OUT: writes the text that lusearch searches to OUT, unless OUT is there already.
#
# The text is the King James Bible (public domain), one verse a line. Debian ships it compressed
# (bible-kjv-text) together with the program that prints it (bible-kjv); both are unpacked into a
# temporary folder and nothing is installed.
set -eu

TEXT_SHA256=cd45f0c9cedab8e4439bd6486c8952c77cc8b0ecc5d1f6ae3513f2039f47229d

fail() { echo "corpus.sh: $*" >&2; exit 1; }

[ $# -eq 1 ] || fail "usage: corpus.sh OUT"
out=$(realpath -m "$1")
[ ! -f "$out" ] || exit 0

mkdir -p "$(dirname "$out")"
work=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"

# libreadline8 is what the program links to; a minimal system lacks it.
set -- bible-kjv bible-kjv-text libreadline8
if [ "$(id -u)" -eq 0 ] && ! apt-cache show "$@" >/dev/null 2>&1; then
    apt-get update -q >apt.log 2>&1 || { cat apt.log >&2; fail "apt-get update failed"; }
fi
# apt's unprivileged user may not write here, and root need not warn about it.
apt-get download -q -o APT::Sandbox::User=root "$@" >apt.log 2>&1 || {
    cat apt.log >&2
    fail "cannot download $*: run 'apt-get update' and check that Debian's archive is reachable"
}
for deb in ./*.deb; do dpkg-deb -x "$deb" root; done

# The program looks for its data in the current directory first.
top=$PWD
cd root/usr/lib
lib=$(dirname "$(find "$top/root" -name 'libreadline.so.8' | head -n 1)")
echo | LD_LIBRARY_PATH="$lib" "$top/root/usr/bin/bible" -f Gen1:1-Rev22:21 >"$top/text"
cd "$top"

actual=$(sha256sum text | cut -d ' ' -f 1)
[ "$actual" = "$TEXT_SHA256" ] ||
    fail "the text has SHA-256 $actual, not $TEXT_SHA256: another edition needs new digests (benchmarks/README.md)"
mv text "$out"
