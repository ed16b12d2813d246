# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The test suites that jtreg.sh knows, and the lists of tests. Sourced, after lib.sh.

# find_suites JDK: sets the suites that belong to that JDK's version (copies go into RUN), and the unmodified JDK of the same version.
find_suites() {
  local version source
  version=$(cut -d' ' -f1 "$1/lib/server/shardsweep.stamp")
  source=$CACHE/source/$version
  IMAGE=$CACHE/image/$version
  HOTSPOT_SUITE=$source/test/hotspot/jtreg
  JDK_SUITE=$source/test/jdk
  OWN_SUITE=$ROOT/openjdk/test
  RETARGETED_SUITE=$RUN/retargeted/test/suite
  [[ -d $HOTSPOT_SUITE && -x $IMAGE/bin/java ]] || die "the source of $version is not in $CACHE: run \`make jdk\` again"
}

# selected_tests NAME|PATH...: prints the absolute paths of the tests of a list, or of the given ones.
selected_tests() {
  local item suite path
  for item in "$@"; do
    local list=$ROOT/scripts/jtreg/$item.txt
    if [[ -e $list ]]; then
      while read -r suite path; do
        case $suite in
          hotspot) suite=$HOTSPOT_SUITE ;;
          jdk) suite=$JDK_SUITE ;;
          own) suite=$OWN_SUITE ;;
          retargeted) suite=$RETARGETED_SUITE ;;
          *) die "${list#"$ROOT"/}: there is no suite '$suite': hotspot, jdk, own, retargeted" ;;
        esac
        [[ -e $suite/$path ]] || die "${list#"$ROOT"/} names $path, which is not in $suite"
        realpath --no-symlinks "$suite/$path"
      done < <(grep -v -e '^#' -e '^ *$' "$list")
    else
      find_test "$item"
    fi
  done
}

# find_test PATH: prints the absolute path of a test given by its path here or in one of the suites.
find_test() {
  local suite
  for suite in "" "$ROOT/" "$RETARGETED_SUITE/" "$HOTSPOT_SUITE/" "$JDK_SUITE/" "$OWN_SUITE/"; do
    if [[ -e $suite$1 ]]; then realpath --no-symlinks "$suite$1"; return; fi
  done
  die "TESTS=$1 is neither a list (full, ci) nor a test: looked in the checkout and in the suites hotspot/jtreg, jdk and openjdk/test"
}

# build_native FOLDER JDK TEST...: compiles the JNI libraries that lie beside the tests.
build_native() {
  local folder=$1 jdk=$2 file name
  shift 2
  mkdir -p "$folder"
  while IFS= read -r file; do
    name=$(basename "$file" .c)
    gcc -shared -fPIC -O1 -pthread -I"$jdk/include" -I"$jdk/include/linux" -I"${JDK_SUITE%/jdk}/lib/native" -I"$(dirname "$file")" \
      -o "$folder/$name.so" "$file" 2>>"$folder/gcc.log" || die "$file does not compile: see $folder/gcc.log"
  done < <(for file in "$@"; do [[ -d $file ]] || file=$(dirname "$file"); find "$file" -name 'lib*.c'; done | sort -u)
}
