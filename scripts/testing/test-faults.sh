#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Tests what the JVM does when the system refuses: the n-th call of mmap, madvise, pthread_create or malloc fails, from the first to the
# last that a small program makes; address space or a cgroup's memory is limited; signals come during collections. Each run has to end with
# the right result, with an OutOfMemoryError or with a line that says what is missing, or as the signal has it; never by a crash, a panic
# or a hang.
# Usage: test-faults.sh [FUNCTION...]       (default: mmap madvise pthread_create malloc space cgroup signal). Variables:
#   PLUGIN, PLAN   what to test (default: ms-64k and the plugin's default)
#   CALLER         count only calls from libraries whose path has this in it, as libmmtk (default: libjvm.so and the plugin; of malloc, the
#                  plugin alone)
#   DEBUG          fastdebug: the JDK with HotSpot's checks
#   FIRST, STEP    start at this call, and take each STEP-th (default: 1 and 1)
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
source ./check.sh

JDK=$(jdk_folder)
PLUGIN=${PLUGIN:-ms-64k}
FIRST=${FIRST:-1}
TIMEOUT=60
# Of Small.java.
RIGHT='sum 23700'
# The launcher says so whatever it was, and names no reason.
OF_LAUNCHER='^Error: \(Could not create the Java Virtual Machine\|Could not find or load main class\|A fatal exception has occurred\)'
# The C library ends a process so when a new thread first uses a thread-local variable and there is no memory for it, with any collector.
NO_THREAD_LOCAL_DATA='cannot allocate memory for thread-local data: ABORT'
need_jdk "$JDK"
# It may be a path.
[[ -e $PLUGIN ]] || need_plugin "$JDK" "$PLUGIN"
[[ $FIRST =~ ^[1-9][0-9]*$ && ${STEP:=1} =~ ^[1-9][0-9]*$ ]] || die "FIRST ($FIRST) and STEP ($STEP) have to be whole numbers from 1"
WORK=$(mktemp -d)
GROUP=
trap 'rm -rf "$WORK"; [[ ! $GROUP ]] || rmdir "$GROUP"' EXIT
COMMAND=("$JDK/bin/java" -XX:+UseThirdPartyHeap "-XX:ThirdPartyHeapPlugin=$PLUGIN" ${PLAN:+"-XX:ThirdPartyHeapOptions=plan=$PLAN"}
  -Xms4m -Xmx24m -XX:ParallelGCThreads=2 -XX:TieredStopAtLevel=1 -XX:-CreateCoredumpOnCrash "-XX:ErrorFile=$WORK/hs_err" -cp "$WORK" Small)

# ends_well STATUS: whether the program that has written $WORK/log ended as described above. Says otherwise how it ended.
ends_well() {
  local reason=
  if [[ $1 == 0 ]] && grep -qx "$RIGHT" "$WORK/log"; then return; fi
  if [[ $1 == 124 || $1 == 137 ]]; then
    reason=hangs
  elif grep -qE 'panicked at|^# .*(Internal Error|SIG[A-Z]+)' "$WORK/log" "$WORK"/hs_err* 2>/dev/null || (($1 > 128)); then
    reason=crashes
  elif [[ $1 == 127 ]] && grep -qF "$NO_THREAD_LOCAL_DATA" "$WORK/log"; then
    return 0
  elif [[ $1 != 1 ]]; then
    reason="ends with exit code $1"
  elif ! grep -v "$OF_LAUNCHER" "$WORK/log" | grep -E 'OutOfMemoryError|[Ii]nsufficient memory|[Cc]annot|[Cc]ould not|[Uu]nable to|[Ff]ailed' >/dev/null; then
    reason="does not say what is missing"
  else
    return 0
  fi
  echo "it $reason:"
  tail -n 15 "$WORK/log"
  return 1
}

# run COMMAND...: runs it, with its output in $WORK/log. Sets STATUS to its exit code.
run() {
  STATUS=0
  rm -f "$WORK"/hs_err*
  "$@" >"$WORK/log" 2>&1 </dev/null || STATUS=$?
}

# fault FUNCTION N: one run in which that call fails. Where there is none it has to have the right result.
fault() {
  rm -f "$WORK/mark"
  run env FAULT_FUNCTION="$1" FAULT_AT="$2" FAULT_CALLER="${CALLER:-}" FAULT_MARK="$WORK/mark" LD_PRELOAD="$WORK/fail.so" \
    timeout --kill-after=5 "$TIMEOUT" "${COMMAND[@]}"
  ends_well "$STATUS" && { [[ -e $WORK/mark ]] || grep -qx "$RIGHT" "$WORK/log" || { echo "no call fails, and its result is wrong"; return 1; }; }
}

# faults FUNCTION: all of its calls fail, one a run.
faults() {
  local n
  for ((n = FIRST; ; n += STEP)); do
    check "call $n of $1 fails" fault "$1" "$n"
    [[ -e $WORK/mark ]] || break
  done
  ((n > FIRST)) || die "the program calls $1 less than $FIRST times"
}

# limited MIB: a run with that much address space. With 2.5 GiB it has to have the right result: HotSpot takes one of them for classes.
limited() {
  run bash -c 'ulimit -v "$1" && exec "${@:2}"' _ $(($1 << 10)) timeout --kill-after=5 "$TIMEOUT" "${COMMAND[@]}"
  ends_well "$STATUS" && { (($1 < 2560)) || grep -qx "$RIGHT" "$WORK/log"; }
}

# space: from where HotSpot can say something, with any collector, to more than the 15 TiB that mmtk reserves for its metadata.
space() {
  local mib
  for ((mib = 216; mib <= 64 << 20; mib = mib * 3 / 2)); do check "$mib MiB of address space" limited "$mib"; done
}

# in_group COMMAND...: runs it in the cgroup $GROUP.
in_group() { bash -c 'echo $$ >"$1/cgroup.procs" && exec "${@:2}"' _ "$GROUP" "$@"; }

# killed: how many processes of the group the kernel has killed for want of memory.
killed() { cat "$GROUP"/memory.{events,oom_control} 2>/dev/null | sed -n 's/^oom_kill //p'; }

# set_limit MIB: the memory that the group may hold. Says so, and fails, where that cannot be set.
set_limit() {
  local file
  for file in memory.max memory.limit_in_bytes; do
    [[ ! -e $GROUP/$file ]] || echo $(($1 << 20)) >"$GROUP/$file" || { echo "the limit cannot be set"; return 1; }
  done
}

# confined MIB: a run with that much memory. The kernel may kill it, unless that is enough for heap, code, metaspace and stacks.
confined() {
  local before
  set_limit "$1" || return
  before=$(killed)
  run in_group timeout --kill-after=5 "$TIMEOUT" "${COMMAND[@]}"
  if [[ $STATUS == 137 && $(killed) -gt $before ]] && (($1 < 128)); then return; fi
  ends_well "$STATUS" && { (($1 < 128)) || grep -qx "$RIGHT" "$WORK/log"; }
}

# quarter MIB: the default heap is a quarter of the group's memory, as with any collector.
quarter() {
  set_limit "$1" || return
  says "MaxHeapSize += $(($1 << 18)) " in_group "${COMMAND[@]:0:2}" -XX:+PrintFlagsFinal -version
}

cgroup() {
  local root mib memory
  root=$(sed -nE 's/^[^ ]+ ([^ ]+) cgroup [^ ]*\bmemory\b.*/\1/p; s/^[^ ]+ ([^ ]+) cgroup2 .*/\1/p' /proc/mounts | head -n 1)
  GROUP=$root/shardsweep-$$
  if [[ ! $root ]] || ! mkdir "$GROUP" 2>/dev/null || ! [[ -e $GROUP/memory.max || -e $GROUP/memory.limit_in_bytes ]]; then
    [[ ! -d $GROUP ]] || rmdir "$GROUP"
    GROUP=
    say "cgroups cannot be made here: left out"
    return
  fi
  memory=$(sed -nE 's/^MemTotal: +([0-9]+) kB$/\1/p' /proc/meminfo)
  # A limit above what the machine has is none.
  for mib in 1024 2048 4096; do
    ((mib << 10 >= memory)) || check "the default heap in $mib MiB of memory" quarter "$mib"
  done
  for ((mib = 16; mib <= 512; mib = mib * 4 / 3)); do check "$mib MiB of memory" confined "$mib"; done
}

# signalled SIGNAL MILLISECONDS: after that time it ends a program that collects again and again, at once.
signalled() {
  run timeout --signal="$1" --kill-after=10 "0.$(printf '%03d' "$2")" "${COMMAND[@]}" for ever
  case $1 in
    KILL) [[ $STATUS == 137 && ! -e $WORK/hs_err ]] ;;
    TERM) [[ $STATUS == 124 && ! -e $WORK/hs_err ]] ;;
  esac || { echo "exit code $STATUS:"; tail -n 15 "$WORK/log"; return 1; }
}

# crashed MILLISECONDS: so long after its first result, such a program crashes as it is told to, and describes the heap.
crashed() {
  local status=0 job
  rm -f "$WORK"/hs_err* "$WORK/log"
  "${COMMAND[@]}" for ever >"$WORK/log" 2>&1 </dev/null &
  job=$!
  # An interrupt does not reach a job in the background.
  # shellcheck disable=SC2064 # the process as it is now
  trap "kill -KILL $job 2>/dev/null || true" EXIT
  wait_until grep -qsx "$RIGHT" "$WORK/log" || { echo "no first result"; kill -KILL "$job"; return 1; }
  sleep "0.$(printf '%03d' "$1")"
  kill -SEGV "$job"
  wait_until has_ended "$job"
  kill -KILL "$job" 2>/dev/null || true
  wait "$job" || status=$?
  # A crash without a core dump ends so.
  if [[ $status != 1 ]] || ! grep -q '^Heap: third-party heap, plan ' "$WORK/hs_err"; then
    echo "exit code $status:"
    tail -n 15 "$WORK/log"
    return 1
  fi
}

# wait_until COMMAND...: returns once the command succeeds; fails if that is not before TIMEOUT.
wait_until() {
  local end=$((SECONDS + TIMEOUT))
  until "$@"; do
    ((SECONDS <= end)) || return 1
    sleep 0.05
  done
}

has_ended() { ! kill -0 "$1" 2>/dev/null; }

signal() {
  local milliseconds
  for ((milliseconds = 50; milliseconds < 1000; milliseconds += 50)); do
    check "SIGTERM after $milliseconds ms" signalled TERM "$milliseconds"
  done
  for ((milliseconds = 200; milliseconds < 1000; milliseconds += 200)); do
    check "SIGKILL after $milliseconds ms" signalled KILL "$milliseconds"
    check "SIGSEGV $milliseconds ms after the first result" crashed "$milliseconds"
  done
}

need_packages gcc libc6-dev
gcc -std=gnu11 -O1 -Wall -Wextra -Werror -shared -fPIC -o "$WORK/fail.so" faults/fail.c
"$JDK/bin/javac" -d "$WORK" faults/Small.java
(($#)) || set -- mmap madvise pthread_create malloc space cgroup signal
# What a JVM that outlives this script leaves behind, it leaves there.
cd "$WORK"
for what in "$@"; do
  case $what in
    mmap | madvise | pthread_create | malloc) faults "$what" ;;
    space | cgroup | signal) "$what" ;;
    *) die "there is no '$what': mmap madvise pthread_create malloc space cgroup signal" ;;
  esac
done
finish
