// SPDX-License-Identifier: MIT OR Apache-2.0
// Rounds of many cells of one size (Berger and others' Hoard): each thread allocates its share, then frees it.
#include "bench.h"

enum { CELLS = 100000, BYTES = 8 };

static void *body(void *index) {
  (void)index;
  size_t share = CELLS / threads;
  void **cells = allocate(share * sizeof *cells);
  for (size_t round = 0; round < operations / CELLS; round++) {
    for (size_t i = 0; i < share; i++) cells[i] = allocate(BYTES);
    for (size_t i = 0; i < share; i++) free(cells[i]);
  }
  free(cells);
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  run_threads(body);
  printf("threadtest: %zu rounds\n", operations / CELLS);
}
