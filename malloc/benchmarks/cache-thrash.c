// SPDX-License-Identifier: MIT OR Apache-2.0
// False sharing that an allocator brings about (Berger and others' Hoard): each thread allocates a small cell, writes to it
// often, and frees it, while the others do the same.
#include "bench.h"

enum { BYTES = 8, WRITES = 1000 };

static void *body(void *index) {
  (void)index;
  for (size_t i = 0; i < operations / threads; i++) {
    volatile char *cell = allocate(BYTES);
    for (int j = 0; j < WRITES; j++) cell[j % BYTES]++;
    free((void *)cell);
  }
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  run_threads(body);
  printf("cache-thrash: %zu cells\n", operations / threads * threads);
}
