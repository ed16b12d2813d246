# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Gets one version of Debian's openjdk-17, source and binaries, through a private apt configuration that leaves the
# system's alone. apt checks every file against the archive's signed index. Sourced by jdk.sh, after lib.sh and apt.sh.

FETCH_PACKAGES=(openjdk-17-jre-headless openjdk-17-jdk-headless)

# Prints every version of the source package that the archive's index lists, newest first.
listed_versions() { private_apt apt-cache showsrc --only-source openjdk-17 | sed -n 's/^Version: //p' | sort -u | newest_first; }

# Sorts versions, a line each.
newest_first() {
  python3 -c '
import functools, subprocess, sys
newer = lambda a, b: -1 if subprocess.run(["dpkg", "--compare-versions", a, "gt", b]).returncode == 0 else 1
print("\n".join(sorted(sys.stdin.read().split(), key=functools.cmp_to_key(newer))))'
}

# fetch_version V: source and binary packages of V into downloads/V. Fails, with a log, if the mirror does not have all of them.
fetch_version() {
  local version=$1 part=$CACHE/downloads/.part-$1 log=$CACHE/log/fetch-$1.log package
  local -a wanted=()
  for package in "${FETCH_PACKAGES[@]}"; do wanted+=("$package=$version"); done
  mkdir -p "$part" "$CACHE/log"
  (
    cd "$part" || exit
    private_apt apt-get source --download-only --only-source "openjdk-17=$version" && private_apt apt-get download "${wanted[@]}"
  ) >"$log" 2>&1 || return 1
  mv "$part" "$CACHE/downloads/$version"
}

# Prints the versions in the cache, newest first.
kept_versions() { find "$CACHE/downloads" -mindepth 1 -maxdepth 1 -type d -not -name '.*' -printf '%f\n' 2>/dev/null | newest_first; }

# is_asked VERSION ASKED: whether that is the version asked for, or begins with it. Any is where none is.
is_asked() { [[ -z $2 || $1 == "$2" || $1 == "$2"[+.~-]* ]]; }

# Sets VERSION to the version asked for (a Debian version or the start of one: 17.0.19), or else to the newest that the mirror
# really serves: an index may list a version whose files are gone. The choice stays until the cache goes or another is asked for; one that
# was made without all of the archive's indexes does not, as a newer one may be in those.
choose_version() {
  local asked=${1:-} chosen=$CACHE/chosen-version candidate log again whole=yes
  if [[ -z $asked && -e $chosen ]]; then asked=$(<"$chosen"); fi
  for candidate in ${asked:+$(kept_versions)}; do
    if is_asked "$candidate" "$asked"; then VERSION=$candidate; return; fi
  done
  say "looking for OpenJDK ${asked:-17} in Debian's archive"
  private_update || whole=
  local -a listed
  mapfile -t listed < <(listed_versions)
  for candidate in "${listed[@]}"; do
    is_asked "$candidate" "$asked" || continue
    if [[ ! -d $CACHE/downloads/$candidate ]]; then
      say "fetching openjdk-17 $candidate"
      if ! fetch_version "$candidate"; then
        log=$CACHE/log/fetch-$candidate.log
        # What fails otherwise, such as the network, says nothing of the next version.
        grep -qE ' 404 | was not found' "$log" || die "$(tail -n 1 "$log"); the whole output is in $log"
        say "the mirror lists $candidate but does not serve it"
        continue
      fi
    fi
    VERSION=$candidate
    [[ -n ${1:-} || ! $whole ]] || echo "$VERSION" >"$chosen"
    return
  done
  [[ ! -e $chosen ]] || again="; to choose a version again remove $chosen"
  die "OpenJDK ${asked:-17} is not to be had from this mirror, which lists: ${listed[*]:-nothing} (logs in $CACHE/log)${again:-}"
}

# The unpacked upstream source of VERSION, without Debian's own patches: ours are made against what OpenJDK publishes.
unpack_source() {
  SOURCE=$CACHE/source/$VERSION
  [[ -d $SOURCE ]] && return
  say "unpacking the source"
  local part=$CACHE/source/.part
  rm -rf "$part"
  mkdir -p "$CACHE/source"
  run_logged "$CACHE/log/unpack.log" dpkg-source --skip-patches -x "$CACHE/downloads/$VERSION"/*.dsc "$part"
  mv "$part" "$SOURCE"
}
