# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Debian's source packages, by a private apt configuration that leaves the system's alone. apt checks every file against
# the archive's signed index. Sourced, after lib.sh.

# Runs an apt tool on the system's Debian suites, with the sources of packages added.
private_apt() {
  local tool=$1 apt=$CACHE/apt
  shift
  "$tool" -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/parts" -o Dir::State::Lists="$apt/lists" \
    -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root "$@"
}

# private_update: update_index, of the system's sources as they are now. One at a time, as apt has it.
private_update() {
  # A shell of its own, which ends with the lock.
  (
    lock apt-private
    write_apt_parts
    update_index "$CACHE/log/apt-private-update.log" private_apt apt-get
  )
}

# The system's apt sources that belong to this Debian release, each for binaries and for sources.
write_apt_parts() {
  local parts=$CACHE/apt/parts codename file
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
  mkdir -p "$parts" "$CACHE/apt/lists/partial" "$CACHE/apt/cache/archives/partial"
  rm -f "$parts"/*
  for file in /etc/apt/sources.list.d/*.sources; do
    [[ -e $file ]] || continue
    awk -v RS= -v ORS='\n\n' -v suite="\nSuites:([^\n]* )?$codename(-updates|-security)?([ /][^\n]*)?\n" '
      ("\n" $0 "\n") ~ suite && !/(^|\n)Enabled: *no/ { sub(/Types:[^\n]*/, "Types: deb deb-src"); print }
    ' "$file" >"$parts/$(basename "$file")"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -e $file ]] || continue
    awk -v suite=" $codename(-updates|-security)?[ /]" '
      /^deb(-src)? / && $0 ~ suite { sub(/^deb(-src)? /, ""); print "deb " $0; print "deb-src " $0 }
    ' "$file" | sort -u >"$parts/$(basename "$file" .list).list"
  done
  find "$parts" -empty -delete
  [[ -d $parts ]] || die "no apt source of $codename in /etc/apt: add one to /etc/apt/sources.list.d"
}
