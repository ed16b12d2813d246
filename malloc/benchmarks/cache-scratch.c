// SPDX-License-Identifier: MIT OR Apache-2.0
// False sharing that a program brings about (Berger and others' Hoard): one thread hands each thread a small cell, and each frees it,
// allocates again, and writes to its own cell all the time.
#include "bench.h"

enum { BYTES = 8, WRITES = 1000 };
static volatile char *handed[MAX_THREADS];

static void *body(void *index) {
  free((void *)handed[(size_t)index]);
  for (size_t i = 0; i < operations / threads; i++) {
    volatile char *cell = allocate(BYTES);
    for (int j = 0; j < WRITES; j++) cell[j % BYTES]++;
    free((void *)cell);
  }
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  for (size_t i = 0; i < threads; i++) handed[i] = allocate(BYTES);
  run_threads(body);
  printf("cache-scratch: %zu cells\n", operations / threads * threads);
}
