# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Makes a suite of those of HotSpot's tests that suit any collector but name one, or that run without our options only because they
# refuse all options: copies in which the collector is the one under test. Sourced, after lib.sh and jtreg-suites.sh.

# Tests that OpenJDK has once for each collector: we take the one for Serial, which asks for no more than ours has. Tests of
# compressed oops start their JVMs without the options of the run, and some of them with each of the JDK's collectors in turn.
# TestJNIWeak lets a concurrent collector run to a point, for which the copy has a whole collection; MemberNameLeak asks the JDK's test
# library, which knows HotSpot's own collectors alone, which one is selected. Both copies have another name because ProblemList.txt
# names the originals.
RETARGETED=(
  gc/TestSystemGC.java gc/TestJNIWeak gc/class_unloading/TestClassUnloadingDisabled.java
  gc/stress/gcbasher gc/stress/gclocker gc/stress/gcold gc/stress/systemgc runtime/CompressedOops
  runtime/MemberName/MemberNameLeak.java
)

# retarget_file FILE COPY
retarget_file() {
  sed -e '/@requires vm\.gc\.Serial$/d' -e 's/ -XX:+UseSerialGC//' -e 's/WithSerial/WithThirdPartyHeap/g' \
    -e 's/WB\.concurrentGCRunToIdle()/WB.fullGC()/' -e '/WB\.concurrentGC/d' \
    -e 's/!WB\.supportsConcurrentGCBreakpoints()/false/' -e 's/TestJNIWeak/TestStoppedJNIWeak/g' \
    -e 's/GC\.selected())/null)/' -e '/"-XX:+Use" + gc + "GC",$/d' -e 's/\bMemberNameLeak\b/MemberNameTableLeak/g' \
    -e '/@requires vm\.flagless$/d' -e 's/createLimitedTestJavaProcessBuilder/createTestJavaProcessBuilder/' \
    -e '/testCompressedOopsModes(args, "-XX:+Use/d' -e '/testCompressedOopsModes(args, "-XX:+UnlockExperimental/d' "$1" >"$2"
}

# retarget: makes RETARGETED_SUITE. Its folders stand to each other as they do in the source, one level less deep.
retarget() {
  local test=${RETARGETED_SUITE%/suite} item file copy
  rm -rf "$test"
  mkdir -p "$RETARGETED_SUITE"
  ln -s "${JDK_SUITE%/jdk}/lib" "$test/lib"
  ln -s "${JDK_SUITE%/jdk}/jtreg-ext" "$test/jtreg-ext"
  sed -e 's|\.\./\.\./|../|' -e '/^groups=/d' "$HOTSPOT_SUITE/TEST.ROOT" >"$RETARGETED_SUITE/TEST.ROOT"
  for item in "${RETARGETED[@]}"; do
    while IFS= read -r file; do
      [[ $file != *With* || $file == *WithSerial.java ]] || continue
      copy=${file/WithSerial/WithThirdPartyHeap}
      copy=${copy/MemberNameLeak/MemberNameTableLeak}
      copy=$RETARGETED_SUITE/${copy//TestJNIWeak/TestStoppedJNIWeak}
      mkdir -p "$(dirname "$copy")"
      retarget_file "$HOTSPOT_SUITE/$file" "$copy"
    done < <(cd "$HOTSPOT_SUITE" && find "$item" -name '*.java' -o -name '*.c')
  done
}
