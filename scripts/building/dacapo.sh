#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Downloads the two releases of DaCapo that configs/suites.yml knows, checks them, and prints the two lines that make them known
# to shardsweep: eval "$(make dacapo)". Run by `make dacapo`; what the cache has is not downloaded again, and an interrupted
# download goes on where it stopped. Variables:
#   DACAPO_BACH_SHA256, DACAPO_CHOPIN_SHA256   checksums that you trust, instead of those that the sites of the releases publish
#   SHARDSWEEP_CACHE                           where they are put; default: ~/.cache/shardsweep
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh

FOLDER=$CACHE/dacapo
PART=$FOLDER/.part

# A jar on SourceForge, which publishes the MD5 of each file in the project's feed of files, and nothing better.
BACH=dacapo-9.12-MR1-bach.jar
BACH_URL=https://downloads.sourceforge.net/project/dacapobench/9.12-bach-MR1/$BACH
BACH_SUMS='https://sourceforge.net/projects/dacapobench/rss?path=/9.12-bach-MR1'
# A zip of some GB on the project's own site; the release of that name on GitHub publishes its SHA-256.
CHOPIN=dacapo-23.11-chopin
CHOPIN_URL=https://download.dacapobench.org/chopin/$CHOPIN.zip
CHOPIN_SUMS=https://github.com/dacapobench/dacapobench/releases/download/v23.11-chopin/$CHOPIN.zip.sha256sum

COPY="to use copies: export DACAPO_BACH=/path/to/$BACH DACAPO_CHOPIN=/path/to/$CHOPIN.jar"

# fetch URL [CURL_OPTION...]: to standard output, unless an option says otherwise.
# A server that sends nothing for a minute has failed.
fetch() {
  curl --fail --silent --show-error --location --connect-timeout 20 --speed-limit 1000 --speed-time 60 --retry 2 "${@:2}" "$1"
}

# in_feed FILE: the MD5 of the file in a feed of SourceForge on standard input.
in_feed() { tr -d '\n' | sed 's/<item>/\n/g' | grep -F "/$1/download" | sed -nE 's/.*<media:hash algo="md5">([0-9a-f]{32})<.*/\1/p'; }

# in_list FILE: the checksum of the file in what sha256sum wrote, on standard input.
in_list() { awk -v file="$1" '{ name = $2; sub(/^\*/, "", name); sub(/.*\//, "", name) } name == file { print $1 }'; }

# checksum FILE URL READER VARIABLE: the checksum that the user trusts, or else the one that READER finds in what URL gives.
checksum() {
  local text sum=${!4:-}
  if [[ -z $sum ]]; then
    text=$(fetch "$2" 2>&1) || die "cannot get the checksum of $1 ($(tail -n 1 <<<"$text")); $COPY"
    sum=$("$3" "$1" <<<"$text") || true
    [[ $sum =~ ^([0-9a-f]{32}|[0-9a-f]{64})$ ]] || die "$2 has no checksum of $1: set $4 to one that you trust; $COPY"
  fi
  [[ -z ${!4:-} || $sum =~ ^[0-9a-f]{64}$ ]] || die "$4=$sum is no SHA-256"
  echo "$sum"
}

# fits FILE SUM: whether the file is there and has the checksum, an MD5 or a SHA-256 by its length.
fits() {
  local tool=sha256sum
  ((${#2} == 32)) && tool=md5sum
  [[ -f $1 && $($tool <"$1") == "$2  -" ]]
}

# Leaves no trace of a download that brought nothing.
tidy() {
  find "$PART" -empty -delete 2>/dev/null || true
  rmdir "$FOLDER" 2>/dev/null || true
}

# download URL SUM: puts the file, checked, into PART.
download() {
  local file=$PART/${1##*/} said
  mkdir -p "$PART"
  if ! fits "$file" "$2"; then
    say "downloading $1" >&2
    said=$(fetch "$1" --continue-at - --output "$file" 2>&1) || {
      tidy
      die "cannot download ${file##*/} ($(tail -n 1 <<<"$said")): run this again to go on where it stopped; $COPY"
    }
  fi
  fits "$file" "$2" && return
  rm -f "$file"
  tidy
  die "${file##*/} is removed: it has not the checksum that was published, $2; run this again, or $COPY"
}

get_bach() {
  [[ -f $FOLDER/$BACH ]] && return
  download "$BACH_URL" "$1"
  mv "$PART/$BACH" "$FOLDER/$BACH"
}

get_chopin() {
  [[ -d $FOLDER/$CHOPIN ]] && return
  download "$CHOPIN_URL" "$1"
  say "unpacking $CHOPIN.zip" >&2
  rm -rf "${PART:?}/$CHOPIN"
  run_logged "$CACHE/log/dacapo.log" unzip -q "$PART/$CHOPIN.zip" -d "$PART/$CHOPIN"
  [[ -f $PART/$CHOPIN/$CHOPIN.jar ]] || die "there is no $CHOPIN.jar in $PART/$CHOPIN.zip"
  mv "$PART/$CHOPIN" "$FOLDER/$CHOPIN"
  rm "$PART/$CHOPIN.zip"
}

need_packages curl ca-certificates unzip >&2
bach_sum='' chopin_sum=''
[[ -f $FOLDER/$BACH ]] || bach_sum=$(checksum "$BACH" "$BACH_SUMS" in_feed DACAPO_BACH_SHA256)
[[ -d $FOLDER/$CHOPIN ]] || chopin_sum=$(checksum "$CHOPIN.zip" "$CHOPIN_SUMS" in_list DACAPO_CHOPIN_SHA256)
# Not before: where there is no network, nothing is left.
lock dacapo
get_bach "$bach_sum"
get_chopin "$chopin_sum"
tidy
printf 'export DACAPO_BACH=%q\nexport DACAPO_CHOPIN=%q\n' "$FOLDER/$BACH" "$FOLDER/$CHOPIN/$CHOPIN.jar"
