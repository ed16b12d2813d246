#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Builds build/jdk (or build/jdk-fastdebug): OpenJDK 17 with the JVM of openjdk/. Run by `make jdk`. Variables:
#   DEBUG            release (default) or fastdebug: the level of HotSpot's checks
#   OPENJDK_VERSION  Debian version of the source, or the start of one (17.0.19); default: the newest that can be fetched
#   OPENJDK_SRC      a source tree of OpenJDK 17 to build from instead; it is only read
#   JOBS             compilers at once; default: as many as there are processors
#   SHARDSWEEP_CACHE where downloads, source, objects and finished JVMs are kept; default: ~/.cache/shardsweep
set -euo pipefail
# Where it is relative, it is so to where this was called.
OPENJDK_SRC=${OPENJDK_SRC:+$(realpath -m "$OPENJDK_SRC")}
cd "$(dirname "$0")"
source ../lib.sh
source ./apt.sh
source ./jdk-fetch.sh
source ./jdk-tree.sh
source ./jdk-image.sh

# The last five lines are shared libraries of the assembled JDK.
PACKAGES=(
  build-essential autoconf file zip unzip patch python3 util-linux
  libasound2-dev libcups2-dev libfontconfig1-dev
  zlib1g libfreetype6 libharfbuzz0b
  liblcms2-2
  libjpeg62-turbo
  libnss3
  libpcsclite1
)
LEVEL=${DEBUG:-release}
JDK=$(jdk_folder)
# A name too common to hand on to the JDK's build.
unset DEBUG

check_input() {
  [[ $(uname -m) == x86_64 ]] || die "only x86-64 is supported, this is $(uname -m)"
  [[ ${JOBS:-1} =~ ^[1-9][0-9]*$ ]] || die "JOBS=$JOBS is not a number of compilers: give 1 or more"
  [[ $CACHE != *[[:space:]]* ]] || die "the cache's path has a blank in it, and the JDK does not build in such a one; set SHARDSWEEP_CACHE: $CACHE"
  [[ -z ${OPENJDK_SRC:-} || -f $OPENJDK_SRC/make/conf/version-numbers.conf ]] ||
    die "OPENJDK_SRC=$OPENJDK_SRC is no source tree of OpenJDK: it has no make/conf/version-numbers.conf"
}

# Asks for the version of Debian's packages that belongs to the tree in OPENJDK_SRC.
read_user_tree() {
  local -A number
  local key value
  while IFS='=' read -r key value; do number[$key]=$value; done \
    < <(sed -n 's/^DEFAULT_VERSION_\(FEATURE\|INTERIM\|UPDATE\)=\([0-9]*\).*/\1=\2/p' "$OPENJDK_SRC/make/conf/version-numbers.conf")
  [[ ${number[FEATURE]} == 17 ]] || die "OPENJDK_SRC=$OPENJDK_SRC is OpenJDK ${number[FEATURE]}; this needs 17"
  : "${OPENJDK_VERSION:=17.${number[INTERIM]}.${number[UPDATE]}}"
}

# The version by which the JDK's tools know whether a JVM is theirs.
runtime_version() { sed -n 's/^JAVA_RUNTIME_VERSION="\(.*\)"$/\1/p' "$IMAGE/release"; }

# Brings TREE to OpenJDK's source with our layer over it.
prepare_tree() {
  local layer=$CACHE/layer
  if [[ -n ${OPENJDK_SRC:-} ]]; then
    need_packages rsync
    OPENJDK_NAME=$OPENJDK_SRC
    TREE=$CACHE/tree/user-$(sha256sum <<<"$OPENJDK_SRC" | cut -c1-12)
    make_layer "$OPENJDK_SRC" "$layer"
    mirror_tree "$OPENJDK_SRC" "$TREE"
    lay_over "$layer" "$OPENJDK_SRC" "$TREE"
  else
    OPENJDK_NAME="OpenJDK $VERSION"
    TREE=$CACHE/tree/${VERSION//[^A-Za-z0-9.-]/_}
    make_layer "$SOURCE" "$layer"
    copy_tree "$SOURCE" "$TREE"
    lay_over "$layer" "$SOURCE" "$TREE"
  fi
  OBJECTS=$CACHE/objects/${TREE##*/}-$LEVEL
  CONFIGURE=(
    --with-boot-jdk="$IMAGE" --with-debug-level="$LEVEL" --with-version-string="$(runtime_version)"
    --enable-headless-only --disable-warnings-as-errors --with-native-debug-symbols=none
    --with-zlib=bundled --with-freetype=bundled --with-libjpeg=bundled --with-giflib=bundled --with-libpng=bundled
    --with-lcms=bundled --with-harfbuzz=bundled
  )
}

# digest FOLDER: one hash of the names and contents of all files below it.
digest() { (cd "$1" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum) | sha256sum | cut -d' ' -f1; }

# Runs configure if its arguments or its own sources are not those of the last time.
configure() {
  local wanted
  wanted="${CONFIGURE[*]} $(digest "$TREE/make/autoconf")"
  if [[ -e $OBJECTS/spec.gmk && -e $OBJECTS/configured && $(<"$OBJECTS/configured") == "$wanted" ]]; then return; fi
  say "configuring ($LEVEL)"
  mkdir -p "$OBJECTS"
  rm -f "$OBJECTS/configured"
  (cd "$OBJECTS" && run_logged "$CACHE/log/configure-$LEVEL.log" bash "$TREE/configure" "${CONFIGURE[@]}")
  echo "$wanted" >"$OBJECTS/configured"
}

# Says every half minute how far the compiler has come, until it is killed or the build has died.
watch_progress() {
  local log=$1 total objects=$OBJECTS/hotspot/variant-server/libjvm/objs
  exec {LOCK_FD}>&-
  # A pause without a child that would outlive this: nothing is ever written to the pipe.
  while ! read -rt 30 <> <(:) && kill -0 $$ 2>/dev/null; do
    total=$(sed -n 's/^Creating .*libjvm\.so from \([0-9]*\) file.*/\1/p' "$log")
    [[ -z $total ]] || say "compiling HotSpot ($LEVEL): $(find "$objects" -name '*.o' | wc -l) of $total files are there"
  done
}

# Builds the JVM in OBJECTS; make sees what is to be done, also after an interruption.
compile() {
  configure
  local log=$CACHE/log/compile-$LEVEL.log watcher status=0
  say "building HotSpot ($LEVEL) with ${JOBS:=$(nproc)} jobs; log: $log"
  : >"$log"
  watch_progress "$log" &
  watcher=$!
  (cd "$OBJECTS" && run_logged "$log" make hotspot JOBS="$JOBS") || status=$?
  kill "$watcher" 2>/dev/null || true
  ((status == 0)) || exit "$status"
  LIBJVM=$OBJECTS/support/modules_libs/java.base/server/libjvm.so
}

# Sets LIBJVM to the JVM for this source, layer and configuration: a finished one if there is one, else a new one.
find_or_compile() {
  local key stored
  # What a user's tree holds is known to make alone.
  if [[ -n ${OPENJDK_SRC:-} ]]; then compile; return; fi
  key=$({ echo "$VERSION" "${CONFIGURE[@]}"; digest "$CACHE/layer"; } | sha256sum | cut -d' ' -f1)
  stored=$CACHE/libjvm/$key/libjvm.so
  if [[ ! -e $stored ]]; then
    compile
    put_file "$LIBJVM" "$stored"
  fi
  LIBJVM=$stored
}

# A function, so that bash has read all of this file before a long run starts and the file may change meanwhile.
main() {
  local revision description
  check_input
  need_packages "${PACKAGES[@]}"
  lock jdk
  if [[ -n ${OPENJDK_SRC:-} ]]; then read_user_tree; fi
  choose_version "${OPENJDK_VERSION:-}"
  unpack_source
  unpack_image
  revision=$(source_revision)
  # No commit of ours has that source.
  [[ -z ${OPENJDK_SRC:-} ]] || revision+=-dirty
  prepare_tree
  find_or_compile
  # As each plugin has one. What an interrupted run leaves has none.
  description=$JDK/lib/server/libjvm.json
  rm -f "$description"
  assemble "$LIBJVM" "$JDK"
  printf '{"source_revision": "%s"}\n' "$revision" >"$description"
  say "${JDK#"$ROOT"/} is ready: OpenJDK $VERSION ($LEVEL)"
}

main "$@"
