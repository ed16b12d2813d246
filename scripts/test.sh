#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs every test there is, in the order in which a failure shows soonest, and stops at the first that fails. Run by `make test`.
# Usage: test.sh [STEP...]     (default: all of them)
set -euo pipefail
cd "$(dirname "$0")"
source ./lib.sh
source ./rust.sh

STEPS=(shell rust malloc java build image bad-input heap debug python jtreg)

test_shell() {
  need_packages shellcheck patch rsync
  (cd "$ROOT" && shellcheck -x -P SCRIPTDIR scripts/*.sh .ci/run)
  ./test-jdk-tree.sh
}

test_python() {
  need_packages python3 python3-venv chromium slurm-wlm munge procps curl unzip openssl rsync openjdk-17-jdk-headless
  python3 -m unittest discover -s . -p 'test_*.py'
  ./venv.sh
  "$OUT/venv/bin/python" -m pytest -q
}

test_rust() {
  need_packages gcc libc6-dev
  need_rust
  ./patch-crate.sh
  cargo test --manifest-path "$ROOT/Cargo.toml" --workspace --target-dir "$OUT/cargo"
  cargo test --manifest-path "$ROOT/Cargo.toml" --package shardsweep-mmtk --features block-64k --target-dir "$OUT/cargo"
  # The lock-free parts under every interleaving.
  RUSTFLAGS="--cfg loom" cargo test --manifest-path "$ROOT/policy/Cargo.toml" --release --features malloc --test loom --test loom_malloc --target-dir "$OUT/cargo-loom"
}

test_malloc() { ./test-malloc.sh; }

test_java() {
  need_packages maven openjdk-17-jdk-headless
  mvn --batch-mode --no-transfer-progress -f "$ROOT/benchmarks/pom.xml" test
}

test_build() {
  ./jdk.sh
  ./plugin.sh stock ms-64k
  ./lusearch.sh
}

test_image() { ./test-image.sh; }

test_bad-input() { ./test-bad-input.sh; }

test_heap() { ./test-heap.sh; }

test_debug() {
  DEBUG=fastdebug ./jdk.sh
  ./plugin.sh stock-sanity ms-64k-sanity
  DEBUG=fastdebug ./test-heap.sh
}

test_jtreg() {
  ./test-jtreg-lists.sh
  PLUGIN=ms-64k TESTS=ci ./jtreg.sh
  PLUGIN=stock PLAN=Immix TESTS="openjdk/test/moving openjdk/test/references" ./jtreg.sh
  PLUGIN=ms-64k PLAN=StickyMarkSweep TESTS="openjdk/test/barriers openjdk/test/references openjdk/test/fragmentation" ./jtreg.sh
  PLUGIN=ms-64k PLAN=ConcurrentMarkSweep TESTS="openjdk/test/barriers openjdk/test/references openjdk/test/fragmentation" ./jtreg.sh
  PLUGIN=stock PLAN=ConcurrentImmix TESTS="openjdk/test/barriers openjdk/test/references openjdk/test/moving" ./jtreg.sh
  PLUGIN=stock PLAN=GenImmix TESTS="openjdk/test/barriers openjdk/test/references" ./jtreg.sh
  PLUGIN=stock PLAN=StickyImmix TESTS="openjdk/test/barriers openjdk/test/references openjdk/test/moving" ./jtreg.sh
}

for step in "$@"; do
  [[ $(type -t "test_$step") == function ]] || die "there is no step '$step': ${STEPS[*]}"
done
(($#)) || set -- "${STEPS[@]}"
for step in "$@"; do
  say "== $step"
  started=$SECONDS
  "test_$step"
  say "== $step passed in $((SECONDS - started)) s"
done
say "all passed: $*"
