#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs the tests, in the order in which a failure shows soonest, and stops at the first that fails. Run by `make test`. In no
# step are miri.sh and tsan.sh, which need a toolchain that Debian has not, jcstress.sh, stress.sh, soak.sh, and jtreg.sh with TESTS=full or jdk.
# Usage: test.sh [STEP...]     (default: all of them); test.sh --quick: what `make check` runs. STEP+STEP: both at once
set -euo pipefail
cd "$(dirname "$0")"
source ../lib.sh
source ../building/rust.sh

# What the caller says with these is for the scripts that the steps run: each step says itself what it tests.
unset PLAN PLUGIN TESTS DEBUG JAVA_OPTIONS FOLDERS STEP FIRST CALLER

# Together are steps that do not keep two processors busy alone. Nothing is beside `counters`: it counts page faults.
STEPS=(shell lint rust malloc+java build image code faults heap counters debug python jtreg)
QUICK=(shell lint rust-units build code counters python-quick)

# Of the tests in Python, those that take about half of the time.
SWEEPS=(tests/test_kubernetes.py tests/test_slurm.py tests/test_sweep.py)

# at_once COMMAND...: runs them side by side, and shows what each has said once it has ended, in their order. Fails if one does.
at_once() {
  local folder command words i pids=() status=0
  folder=$(mktemp -d)
  # With job control each is a process group of its own, which can be ended with all that it has started.
  set -m
  for command in "$@"; do
    read -ra words <<<"$command"
    "${words[@]}" >"$folder/${#pids[@]}" 2>&1 </dev/null &
    pids+=($!)
  done
  set +m
  # shellcheck disable=SC2064 # as they are now
  trap "kill -- ${pids[*]/#/-} 2>/dev/null || true; rm -rf '$folder'" EXIT
  for i in "${!pids[@]}"; do
    wait "${pids[i]}" || status=$?
    cat "$folder/$i"
    ((status == 0)) || exit "$status"
  done
  trap - EXIT
  rm -rf "$folder"
}

test_shell() {
  need_packages shellcheck patch rsync python3
  (cd "$ROOT" && git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck -x -P SCRIPTDIR)
  ./test-jdk-tree.sh
}

test_lint() {
  local formatter=rustfmt
  ../experiments/venv.sh
  (cd ../experiments && ruffs)
  (cd .. && ruffs --config experiments/pyproject.toml building testing)
  # rustup has a command of that name without the component too.
  rustfmt --version >/dev/null 2>&1 || { need_packages rustfmt-web; formatter=/usr/bin/rustfmt; }
  (cd "$ROOT" && git ls-files -z '*.rs' | xargs -0 "$formatter" --edition 2021 --check)
  echo "rustfmt: all Rust is formatted"
}

# ruffs ARGUMENT...: both of ruff's checks.
ruffs() { "$OUT/venv/bin/ruff" check "$@" && "$OUT/venv/bin/ruff" format --check "$@"; }

test_counters() {
  need_packages valgrind strace
  need_rust
  ../building/patch-crate.sh
  ../experiments/venv.sh
  cargo build --release --manifest-path "$ROOT/Cargo.toml" --package shardsweep-policy --example allocation --target-dir "$OUT/cargo"
  "$OUT/venv/bin/shardsweep" counters
}

test_python-quick() {
  need_packages python3
  python3 -m unittest discover -s . -p 'test_*.py'
  ../experiments/venv.sh
  (cd ../experiments && "$OUT/venv/bin/python" -m pytest -q -m "not slow")
}

test_python() {
  need_packages python3 python3-venv chromium slurm-wlm munge procps strace curl unzip openssl rsync openjdk-17-jdk-headless
  python3 -m unittest discover -s . -p 'test_*.py'
  ../experiments/venv.sh cluster
  at_once "pytests ${SWEEPS[*]}" "pytests ${SWEEPS[*]/#/--ignore=}"
}

pytests() { (cd ../experiments && "$OUT/venv/bin/python" -m pytest -q "$@"); }

test_rust() {
  need_packages gcc libc6-dev
  need_rust
  ../building/patch-crate.sh
  cargo test --manifest-path "$ROOT/Cargo.toml" --workspace --target-dir "$OUT/cargo"
  cargo test --manifest-path "$ROOT/Cargo.toml" --package shardsweep-mmtk --features block-64k --target-dir "$OUT/cargo"
  # Of the whole workspace, for the same features of the dependencies: they are compiled once.
  cargo test --manifest-path "$ROOT/Cargo.toml" --workspace --features shardsweep-malloc/secure --test malloc --target-dir "$OUT/cargo"
  # The lock-free parts under every interleaving.
  CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 RUSTFLAGS="--cfg loom" \
    cargo test --manifest-path "$ROOT/policy/Cargo.toml" --release --features malloc --test loom --test loom_malloc --target-dir "$OUT/cargo-loom"
}

test_rust-units() {
  need_packages gcc libc6-dev
  need_rust
  ../building/patch-crate.sh
  cargo test --manifest-path "$ROOT/Cargo.toml" --package shardsweep-policy --lib --features malloc --target-dir "$OUT/cargo"
}

test_malloc() { ./test-malloc.sh; }

test_java() {
  need_packages maven openjdk-17-jdk-headless
  # A shell of its own, which ends with the lock: `make lusearch` cleans those folders.
  (
    lock lusearch
    mvn --batch-mode --no-transfer-progress -f "$ROOT/benchmarks/pom.xml" test
  )
}

test_build() {
  ../building/jdk.sh
  # What the plugins are linked by has one thread.
  at_once "../building/plugin.sh stock ms-64k malloc-shardsweep" other_builds
}

other_builds() {
  ../building/lusearch.sh
  CARGO_TARGET_DIR=$OUT/cargo-beside ../building/plugin.sh ms-4k ms-64k-block
}

test_image() { ./test-image.sh; }

test_code() {
  need_packages python3 binutils
  ./compiled_code.py
}

# Of the very many calls of malloc, some.
test_faults() {
  ./test-faults.sh mmap madvise pthread_create space cgroup signal
  STEP=9973 ./test-faults.sh malloc
}

test_heap() { ./test-heap.sh; }

test_debug() {
  DEBUG=fastdebug ../building/jdk.sh
  ../building/plugin.sh stock-sanity ms-64k-sanity immix-page-sanity
  DEBUG=fastdebug ./test-heap.sh
}

test_jtreg() {
  ./test-jtreg-lists.sh
  PLUGIN=ms-64k TESTS=ci ./jtreg.sh
  PLUGIN=stock TESTS=openjdk/test/badinput ./jtreg.sh
  # Both take about as long.
  at_once first_plans second_plans
}

# What comes before an OutOfMemoryError is a matter of the plan.
OUT_OF_MEMORY=(outofmemory/{NearlyAll,LargeBesideOthers,RefusedBesideOthers,SmallBesideOthers}.java)

first_plans() {
  on_plan ms-64k StickyMarkSweep barriers references roots moving fragmentation unloading/RoomOfDeadLoaders.java unloading/Reachable.java \
    control/{OldGarbage,LogFormat,Phases,PreTouch,LargePages,HugePages}.java threads/ShortThreads.java "${OUT_OF_MEMORY[@]}"
  under_stress ms-64k StickyMarkSweep references roots moving
  on_plan stock StickyImmix barriers references roots moving control/OldGarbage.java
  on_plan stock GenImmix barriers references roots moving control/OldGarbage.java
  on_plan stock GenCopy barriers references roots moving unloading/CallSites.java control/LogFormat.java
  on_plan stock SemiSpace allocation roots unloading/CallSites.java
}

second_plans() {
  on_plan ms-64k ConcurrentMarkSweep barriers references roots moving unloading fragmentation \
    control/{LogFormat,Phases,PreTouch,LargePages,HugePages}.java events/{ReferenceEvents,AllocationEvents}.java threads/ShortThreads.java "${OUT_OF_MEMORY[@]}"
  under_stress ms-64k ConcurrentMarkSweep references roots moving
  on_plan stock ConcurrentImmix barriers references roots moving unloading/WhileMarking.java unloading/Redefined.java control/LogFormat.java
  on_plan stock MarkSweep fragmentation/NoAddresses.java
  on_plan stock Immix moving references
  on_plan stock MarkCompact allocation roots moving/{DerivedPointers,IdentityHashes,JniCritical,LockedObjects}.java unloading/CallSites.java
  on_plan ms-4k MarkSweep allocation fragmentation/Fragmentation.java
  on_plan ms-64k-block MarkSweep allocation
  on_plan malloc-shardsweep MarkSweep references/FoundOnce.java badinput/LiveBytesOfLibrary.java
}

# on_plan BUILD PLAN TEST...: runs tests of ours, one at a time. When a pause ends, all that is reachable has to be marked.
on_plan() {
  JAVA_OPTIONS="-XX:+UnlockDiagnosticVMOptions -XX:+VerifyAfterGC -XX:VerifySubSet=heap" \
    PLUGIN=$1 PLAN=$2 JOBS=1 TESTS="${*:3}" ./jtreg.sh
}

# under_stress BUILD PLAN TEST...: the same, and each MiB that threads get has a collection run.
under_stress() { on_plan "$1" "$2,stress_factor=1048576" "${@:3}"; }

[[ ${1-} != --quick ]] || { shift; set -- "${QUICK[@]}" "$@"; }
IFS='+ ' read -ra asked <<<"$*"
known="${STEPS[*]//+/ } rust-units python-quick"
((${#asked[@]} || $# == 0)) || die "no step is named: $known"
for step in "${asked[@]}"; do
  [[ $(type -t "test_$step") == function ]] || die "there is no step '$step': $known"
done
(($#)) || set -- "${STEPS[@]}"

run_step() {
  local started=$SECONDS
  say "== $1"
  "test_$1"
  say "== $1 passed in $((SECONDS - started)) s"
}

for step in "$@"; do
  IFS=+ read -ra together <<<"$step"
  if ((${#together[@]} == 1)); then
    run_step "$step"
  else
    at_once "${together[@]/#/run_step }"
  fi
done
say "all passed: $*"
