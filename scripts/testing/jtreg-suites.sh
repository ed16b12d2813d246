# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The test suites that jtreg.sh knows, and the lists of tests. Sourced, after lib.sh.

# find_suites JDK: sets the suites that belong to that JDK's version (copies go into RUN), and the unmodified JDK of the same version.
find_suites() {
  local version source
  need_jdk "$1"
  version=$(cut -d' ' -f1 "$1/lib/server/shardsweep.stamp")
  source=$CACHE/source/$version
  IMAGE=$CACHE/image/$version
  HOTSPOT_SUITE=$source/test/hotspot/jtreg
  JDK_SUITE=$source/test/jdk
  OWN_SUITE=$ROOT/openjdk/test
  RETARGETED_SUITE=$RUN/retargeted/test/suite
  [[ -d $HOTSPOT_SUITE && -x $IMAGE/bin/java ]] || die "the source of $version is not in $CACHE: run \`make jdk\` again"
}

# suite_folder LIST SUITE: prints where the suite is that a line of a list names.
suite_folder() {
  case $2 in
    hotspot) echo "$HOTSPOT_SUITE" ;;
    jdk) echo "$JDK_SUITE" ;;
    own) echo "$OWN_SUITE" ;;
    retargeted) echo "$RETARGETED_SUITE" ;;
    *) die "${1#"$ROOT"/}: there is no suite '$2': hotspot, jdk, own, retargeted" ;;
  esac
}

# listed_test LIST SUITE PATH: prints the absolute path of what a line of a list names.
listed_test() {
  local list=${1#"$ROOT"/} suite path=$3
  suite=$(suite_folder "$1" "$2")
  [[ -e $suite/$path ]] || die "$list names $path, which is not in $suite"
  [[ -n $(tests_in "$suite" "$path") ]] || die "$list names $path, in which there is no test"
  ! all_excluded "$suite" "$path" || die "$list names $path, which a ProblemList excludes"
  realpath --no-symlinks "$suite/$path"
}

# problem_lists: prints the lists of tests that are left out. Ours say why each test is in it, that of a plan what the plan has not; the
# other two are OpenJDK's, of tests that it knows to fail anywhere.
problem_lists() {
  local list
  for list in "$OWN_SUITE/ProblemList.txt" "$OWN_SUITE/ProblemList-${PLAN:-}.txt" "$HOTSPOT_SUITE/ProblemList.txt" "$JDK_SUITE/ProblemList.txt"; do
    if [[ -e $list ]]; then echo "$list"; fi
  done
}

# tests_in SUITE PATH: prints the tests in PATH, by their paths in the suite.
tests_in() { (cd "$1" && grep -rlw --include='*.java' --include='*.sh' '@test' "$2" | sort); }

# all_excluded SUITE PATH: whether each test in PATH is left out on every platform. A list that names it would promise a test that
# never runs.
all_excluded() {
  local lists tests
  mapfile -t lists < <(problem_lists)
  tests=$(tests_in "$1" "$2")
  [[ -z $(comm -23 <(echo "$tests") <(sed -n 's/ .*generic-all.*//p' "${lists[@]}" | sort)) ]]
}

# list_lines LIST: prints the lines that name tests.
list_lines() { grep -v -e '^#' -e '^ *$' "$1"; }

# selected_tests NAME|PATH...: prints the absolute paths of the tests of a list, or of the given ones.
selected_tests() {
  local item suite path
  for item in "$@"; do
    local list=$ROOT/scripts/testing/jtreg/$item.txt
    if [[ -e $list ]]; then
      while read -r suite path; do listed_test "$list" "$suite" "$path"; done < <(list_lines "$list")
    else
      find_test "$item"
    fi
  done
}

# find_test PATH: prints the absolute path of a test given by its path here or in one of the suites; of a folder, in each suite that has it.
find_test() {
  local place suite found=
  for place in "$1" "$ROOT/$1"; do
    if [[ -e $place ]]; then realpath --no-symlinks "$place"; return; fi
  done
  for suite in "$RETARGETED_SUITE" "$HOTSPOT_SUITE" "$JDK_SUITE" "$OWN_SUITE"; do
    [[ -e $suite/$1 ]] || continue
    realpath --no-symlinks "$suite/$1"
    # Of a test the first copy counts, which is the retargeted one.
    [[ -d $suite/$1 ]] || return 0
    found=yes
  done
  [[ $found ]] || die "TESTS=$1 is neither a list (full, ci, jdk) nor a test: looked in the checkout and in the suites hotspot/jtreg, jdk and openjdk/test"
}
