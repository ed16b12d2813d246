# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Builds the native parts of tests: libraries lib*.c and lib*.cpp, and programs exe*.c and exe*.cpp. Sourced, after lib.sh and
# jtreg-suites.sh.

# native_sources TEST...: prints the sources that lie beside the tests or below their folders. Tests of vmTestbase share some more.
native_sources() {
  local test folders=()
  for test in "$@"; do
    if [[ -d $test ]]; then folders+=("$test"); else folders+=("$(dirname "$test")"); fi
  done
  if [[ " $* " == */vmTestbase/* ]]; then
    folders+=("$HOTSPOT_SUITE"/vmTestbase/{nsk/share,nsk/monitoring/share,vm/share,vm/mlvm/share})
  fi
  find "${folders[@]}" -name 'lib*.c' -o -name 'lib*.cpp' -o -name 'exe*.c' -o -name 'exe*.cpp' | sort -u
}

# set_native_options JDK: the options that all of them are built with.
set_native_options() {
  local jdk=$1 source=${JDK_SUITE%/test/jdk} base folder
  base=$HOTSPOT_SUITE/vmTestbase
  NATIVE_OPTIONS=(-fPIC -O1 -w -pthread -D_GNU_SOURCE -DLINUX -D_LP64 -D_LITTLE_ENDIAN
    -D__STDC_FORMAT_MACROS -D__STDC_LIMIT_MACROS -D__STDC_CONSTANT_MACROS)
  for folder in "$jdk"/include{,/linux} "$source"/test/lib/native "$source"/test/lib/jdk/test/lib/jvmti \
    "$source"/src/hotspot/{share,os/posix}/include "$source"/src/java.base/{share,unix,linux}/native/{libjava,libjli,include} \
    "$base"/nsk/share/{native,jni,jvmti,jvmti/agent_common,jvmti/aod,aod,jdi,locks} \
    "$base"/nsk/share/gc/lock/{jni,jniref,jvmti,malloc} "$base"/nsk/stress/jni "$base"/vm/{share,mlvm/share}; do
    NATIVE_OPTIONS+=(-I "$folder")
  done
  # Only those of the libraries become dependencies that a test calls.
  NATIVE_LIBRARIES=(-L "$jdk/lib/server" -L "$jdk/lib" "-Wl,--as-needed" -ljvm -ljava -ljli -ldl)
}

# build_native_file FOLDER SOURCE: makes the library or program, unless it is newer than its source and the headers that some of ours
# include.
build_native_file() {
  local folder=$1 file=$2 name compiler=(gcc) options=() each stale=
  local headers=("$ROOT"/openjdk/{src/hotspot/share/gc/thirdparty/thirdPartyHeapPlugin,test/lib/agent}.h)
  name=$(basename "${file%.*}")
  if [[ $name == lib* ]]; then
    options=(-shared)
    name=$name.so
  else
    name=${name#exe}
  fi
  [[ $file != *.cpp ]] || compiler=(g++ -std=c++14)
  case $name in
    libtest-rw.so) options+=(-z noexecstack) ;;
    libtest-rwx.so) options+=(-z execstack) ;;
  esac
  for each in "$file" "${headers[@]}"; do
    [[ $folder/$name -nt $each ]] || stale=yes
  done
  [[ $stale ]] || return 0
  # What does not compile is not there.
  rm -f "$folder/$name"
  "${compiler[@]}" "${options[@]}" "${NATIVE_OPTIONS[@]}" -o "$folder/$name.tmp" "$file" "${NATIVE_LIBRARIES[@]}" \
    >"$folder/log/$name.log" 2>&1 || return 1
  mv "$folder/$name.tmp" "$folder/$name"
}

# build_native FOLDER JDK TEST...: makes in FOLDER what the tests need and FOLDER does not have. Names what does not compile:
# the tests that need it fail.
build_native() {
  local folder=$1 file
  set_native_options "$2"
  mkdir -p "$folder/log"
  shift 2
  {
    flock 9
    while IFS= read -r file; do
      build_native_file "$folder" "$file" || say "skipped, because it does not compile: ${file#"${JDK_SUITE%/test/jdk}/"}"
    done < <(native_sources "$@")
  } 9>"$folder/lock"
}
