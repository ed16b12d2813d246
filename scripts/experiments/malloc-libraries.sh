# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=bash
#
# The allocators that malloc-bench.sh and malloc-instructions.sh measure, and how they are made. Source scripts/lib.sh first.

DEBIAN=/usr/lib/x86_64-linux-gnu
# NAME=LIBRARY to preload; glibc's own malloc needs none. NAME-secure is the secure mode of NAME.
# shellcheck disable=SC2034 # Used by the scripts that source this.
LIBRARIES=(
  glibc=
  shardsweep="$OUT/libshardsweep_malloc.so"
  shardsweep-secure="$OUT/libshardsweep_malloc_secure.so"
  mimalloc1="$OUT/mimalloc/libmimalloc1.so"
  mimalloc2="$DEBIAN/libmimalloc.so.2.0"
  mimalloc3="$OUT/mimalloc/libmimalloc3.so"
  mimalloc3-secure="$OUT/mimalloc/libmimalloc3-secure.so"
  jemalloc="$DEBIAN/libjemalloc.so.2"
  tcmalloc="$DEBIAN/libtcmalloc_minimal.so.4"
  tbb="$DEBIAN/libtbbmalloc_proxy.so.2"
  snmalloc="$OUT/malloc/libsnmalloc.so"
  rpmalloc="$OUT/malloc/librpmalloc.so"
)

build_ours() {
  "$ROOT/scripts/building/malloc.sh"
  "$ROOT/scripts/building/malloc.sh" secure
}

build_others() {
  need_packages gcc libc6-dev libmimalloc2.0 libjemalloc2 libtcmalloc-minimal4 libtbbmalloc2
  "$ROOT/scripts/building/mimalloc.sh" 1 3 3-secure
  "$ROOT/scripts/building/rivals.sh"
}
