#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Measures single operations with JMH on build/jdk: on our allocator and on one of HotSpot's collectors in turn. Leaves what JMH
# says in build/micro, and results.csv, tables.md, machine.json and a plot by heap size in the folder TO. Interrupted, the same command
# goes on with the same JVM, plugin and benchmark.
# Usage: micro.sh allocation|collection|heaps
#   allocation  nanoseconds to allocate an object, beside Serial, by THREADS; five minutes a round
#   collection  milliseconds of System.gc() with 450 MiB alive, beside Parallel; a minute a round
#   heaps       the same with 24 MiB alive, by heap size; a minute a round
# Variables:
#   TO       a folder, default build/micro/ and the name of the measurement, and in it results
#   PLUGIN   the build that is compared, default ms-64k
#   THREADS  numbers of threads, default "1 2"
#   ROUNDS   how many JVMs run each benchmark on each collector, default 6
set -euo pipefail
to=${TO:+$(realpath -m "$TO")}
cd "$(dirname "$0")"
# shellcheck source=../lib.sh
source ../lib.sh
forget_mmtk_options

what=${1:-}
plugin=${PLUGIN:-ms-64k}
rounds=${ROUNDS:-6}
work=$OUT/micro/$what
to=${to:-$work/results}
jar=$work/micro.jar
threads=${THREADS:-1 2}
ours=(-XX:+UseThirdPartyHeap "-XX:ThirdPartyHeapPlugin=$plugin")

# measure COLLECTOR VARIANT "JVM_FLAG..." JMH_ARGUMENT...: in the round that it is, unless an earlier call did.
measure() {
  local name=$1-$2-$round flags=$3
  shift 3
  [[ ! -e $work/$name.json ]] || return 0
  say "$name"
  # By itself JMH takes a JVM that fails for no failure.
  run_logged "$work/$name.log" "$OUT/jdk/bin/java" -jar "$jar" -foe true -jvmArgs "$flags" -rf json -rff "$work/partial" "$@"
  mv "$work/partial" "$work/$name.json"
}

allocation() {
  for number in $threads; do
    measure Serial "$number" "-Xms1g -Xmx1g -XX:+UseSerialGC" -t "$number" Allocation
    measure "$plugin" "$number" "-Xms1g -Xmx1g ${ours[*]}" -t "$number" Allocation
  done
}

collection() {
  measure Parallel 2g "-Xms2g -Xmx2g -XX:+UseParallelGC" FullCollection
  measure "$plugin" 2g "-Xms2g -Xmx2g ${ours[*]}" FullCollection
}

heaps() {
  for mib in 64 128 256 512 1024 2048 4096 8192; do
    # Half of the heap is garbage when it is collected.
    local live=(-p "structure=TREE,MAP" -p mebibytes=24 -p garbage=$((mib * 8192)) FullCollection)
    measure Parallel "${mib}m" "-Xms${mib}m -Xmx${mib}m -XX:+UseParallelGC" "${live[@]}"
    measure "$plugin" "${mib}m" "-Xms${mib}m -Xmx${mib}m ${ours[*]}" "${live[@]}"
  done
}

[[ $what =~ ^(allocation|collection|heaps)$ ]] || die "say what to measure: allocation, collection or heaps"
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "ROUNDS is '$rounds': say a whole number of at least 1"
need_jdk "$OUT/jdk"
need_plugin "$OUT/jdk" "$plugin"
[[ $threads =~ ^[1-9][0-9]*(\ [1-9][0-9]*)*$ ]] || die "THREADS is '$threads': say whole numbers of at least 1"
need_packages maven openjdk-17-jdk-headless
./venv.sh
mkdir -p "$OUT/micro"
lock_file "$OUT/micro/.$what.lock"
mkdir -p "$work"
command="PLUGIN=$plugin THREADS='$threads' ROUNDS=$rounds scripts/experiments/micro.sh $what"
# shellcheck disable=SC2046 # an option, or nothing
if ! resumes "$work/machine.json" "$OUT/jdk" "$plugin" --command "$command" $(committed "$to") || ! sha256sum --check --status "$work/measured"; then
  find "$work" -mindepth 1 -maxdepth 1 ! -name 'machine.json*' ! -name results -exec rm -r {} +
  begins "$work/machine.json"
  # A copy, as `make lusearch` cleans that folder. A shell of its own, which ends with the lock.
  (
    lock lusearch
    run_logged "$work/build.log" mvn --batch-mode --no-transfer-progress -f "$ROOT/benchmarks/pom.xml" -pl micro -am -DskipTests package
    cp "$ROOT/benchmarks/micro/target/micro.jar" "$jar"
  )
  sha256sum "$OUT/jdk/lib/server/libjvm.so" "$OUT/jdk/lib/mmtk/libmmtk_$plugin.so" "$jar" >"$work/measured"
fi
for ((round = 1; round <= rounds; round++)); do "$what"; done
sha256sum --check --status "$work/measured" || die "JVM or plugin were built again meanwhile: measure again"
"$OUT/venv/bin/python" -m shardsweep.micro "$work" "$plugin" "$to"
# The next call measures anew.
rm "$work/machine.json"
