# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What every script here shares: where things lie, how to speak, how to fail, and how to get Debian packages.
# Sourced, never run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034 # the sourcing scripts use it
OUT=$ROOT/build
CACHE=${SHARDSWEEP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/shardsweep}

# Our own make passes its options and variables on by the environment; the JDK's and Maven's builds would take them as theirs.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL
# Would change what every JVM started here does and prints.
unset JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH

# forget_mmtk_options: unsets the caller's variables MMTK_*, which change the plan and what it does. Sweeps alone record them.
forget_mmtk_options() { unset "${!MMTK_@}"; }

# forget_malloc_options: unsets the caller's variables that change what a malloc does.
forget_malloc_options() {
  unset SHARDSWEEP_RESET_DELAY SHARDSWEEP_SHOW_STATS GLIBC_TUNABLES "${!MALLOC_@}" "${!MIMALLOC_@}" "${!TCMALLOC_@}" "${!TBB_MALLOC_@}"
}

say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*"; }

die() {
  printf '%s: error: %s\n' "$(basename "$0" .sh)" "$*" >&2
  exit 1
}

# Scripts change directory before they read this.
[[ $CACHE == /* ]] || die "the cache's path is not absolute: set SHARDSWEEP_CACHE to one that is: $CACHE"

# jdk_folder: prints the folder of the JDK with the level of checks that DEBUG names.
jdk_folder() {
  case ${DEBUG:-release} in
    release) echo "$OUT/jdk" ;;
    fastdebug) echo "$OUT/jdk-fastdebug" ;;
    *) die "DEBUG=$DEBUG is no level: there are release and fastdebug" ;;
  esac
}

# need_jdk JDK: dies unless that JDK is built. What `make jdk` writes last is there.
need_jdk() {
  [[ -e $1/lib/server/libjvm.json ]] || die "there is no finished JDK in ${1#"$ROOT"/}: run \`make jdk${DEBUG:+ DEBUG=$DEBUG}\` first"
}

# need_plugin JDK PLUGIN: dies unless that JDK has the plugin of that name.
need_plugin() {
  [[ -e $1/lib/mmtk/libmmtk_$2.so ]] || die "there is no plugin $2: run \`make plugin BUILD=$2\` first"
}

# need_benchmark JDK: dies unless that JDK below build/ and the benchmark are built.
need_benchmark() {
  need_jdk "$1"
  [[ -e $OUT/lusearch.jar ]] || die "there is no build/lusearch.jar: run \`make lusearch\` first"
  "$ROOT/scripts/building/lusearch.sh" --check || die "build/lusearch.jar is not of the sources in benchmarks: run \`make lusearch\` first"
}

# run_logged LOG COMMAND...: runs a command with its output in LOG alone; on failure shows the errors in it, or else its end, and dies.
run_logged() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1 </dev/null; then
    grep -m 20 -A 3 -E '(^|[^a-z])(fatal )?(error|ERROR)(\[[A-Z0-9]+\])?: ' "$log" >&2 || tail -n 30 "$log" >&2
    die "\`$(basename "$1")\` failed; its whole output is in $log"
  fi
}

# missing_packages PACKAGE...: prints those of the Debian packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

# update_index LOG APT_GET...: looks up what the archive has. Fails, and says so, where not every index could be had; the others are there
# then.
update_index() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  # By itself apt-get takes an index that it cannot have for no failure.
  "$@" -o APT::Update::Error-Mode=any update >"$log" 2>&1 </dev/null && return
  say "not every index of the archive could be had: see $log"
  return 1
}

# When what the archive has was looked up.
INDEX_STAMP=/run/shardsweep-apt

# need_packages PACKAGE...: installs the Debian packages that are missing; without root, says the one line that does.
need_packages() {
  command -v dpkg-query >/dev/null || die "this needs Debian 12 (x86-64): there is no dpkg here"
  local -a missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  local line="apt-get install --no-install-recommends ${missing[*]}"
  [[ $(id -u) == 0 ]] || die "Debian packages are missing; have root run: $line"
  say "installing ${missing[*]}"
  # A shell of its own, which ends with the lock.
  (
    lock apt
    # What there is to install is looked up once an hour: steps of the tests call this one after the other.
    if [[ -z $(find "$INDEX_STAMP" -mmin -60 2>/dev/null) ]]; then
      # What is to be installed need not be in an index that is missing.
      if update_index "$CACHE/log/apt-update.log" apt-get; then touch "$INDEX_STAMP"; fi
    fi
    # A system that has just started may be installing updates.
    (run_logged "$CACHE/log/apt-install.log" env DEBIAN_FRONTEND=noninteractive \
      apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}") ||
      # The index may be of an archive that has changed.
      { rm -f "$INDEX_STAMP"; exit 1; }
  )
}

# lock_file FILE: holds that lock until the script ends. What it says is no part of what the script prints.
lock_file() {
  exec {LOCK_FD}>"$1"
  flock -n "$LOCK_FD" && return
  say "waiting for another process that holds $1" >&2
  flock "$LOCK_FD"
}

# lock_or_die FILE MESSAGE: holds that lock until the script ends; dies with the message if another process holds it.
lock_or_die() {
  exec {LOCK_FD}>"$1"
  flock -n "$LOCK_FD" || die "$2"
}

# lock NAME: holds the named lock of the cache until the script ends, so that two builds never share a directory.
lock() {
  mkdir -p "$CACHE"
  lock_file "$CACHE/$1.lock"
}

# source_revision: prints the commit that the checkout is at, marked if files other than results differ from it, or if it has not all of
# the code. `revision` of shardsweep/machine.py says the same where there is Python.
source_revision() {
  local revision new
  revision=$(git -C "$ROOT" rev-parse HEAD 2>/dev/null) || { echo unknown; return; }
  # Patches and sources are taken by pattern, in a commit or not.
  new=$(git -C "$ROOT" ls-files --others --exclude-standard -- benchmarks configs malloc mmtk openjdk policy)
  [[ ! $new ]] && git -C "$ROOT" diff --quiet HEAD -- . ':!results' ':!README.md' || revision+=-dirty
  echo "$revision"
}

# resumes FILE ARGUMENT...: succeeds if FILE is what shardsweep.machine says with these arguments, so that what an earlier call measured
# can be kept. Otherwise removes it and fails: once what was measured is gone, `begins FILE` makes it that. Code that no commit has may be
# other code than the earlier call's.
resumes() {
  local file=$1
  shift
  "$OUT/venv/bin/python" -m shardsweep.machine "$file.new" "$@" || exit
  if cmp -s "$file.new" "$file" && ! grep -q -e -dirty "$file"; then
    rm "$file.new"
    return
  fi
  rm -f "$file"
  return 1
}

# begins FILE: makes FILE what `resumes` has found that it has to be.
begins() { [[ ! -e $1.new ]] || mv "$1.new" "$1"; }

# committed FOLDER: prints the option of shardsweep.machine that refuses code which no commit has, for a folder of the recorded results.
committed() { [[ $1/ != "$ROOT/results/"* ]] || echo --committed; }

# put_file FROM TO: makes TO equal to FROM; leaves it (and its time stamp) alone where it is already.
put_file() {
  cmp -s "$1" "$2" && return
  mkdir -p "$(dirname "$2")"
  # Never through the old inode: a running JVM may have it mapped.
  cp "$1" "$2.tmp$$"
  mv -f "$2.tmp$$" "$2"
}
