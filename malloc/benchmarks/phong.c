// SPDX-License-Identifier: MIT OR Apache-2.0
// Rounds of cells of random sizes in each thread, freed in random order (as Phong, of the tests of Linux Scalability).
#include "bench.h"

enum { CELLS = 2000, MOST = 2000 };
static uint64_t seeds[MAX_THREADS];

static void *body(void *index) {
  uint64_t seed = random_seed((size_t)index);
  void *cells[CELLS];
  for (size_t round = 0; round < operations / threads / CELLS; round++) {
    for (size_t i = 0; i < CELLS; i++) cells[i] = allocate(1 + random_below(&seed, MOST));
    for (size_t i = CELLS; i > 0; i--) {
      size_t other = random_below(&seed, i);
      free(cells[other]);
      cells[other] = cells[i - 1];
    }
  }
  seeds[(size_t)index] = seed;
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  run_threads(body);
  printf("phong: %016llx\n", (unsigned long long)seeds[0]);
}
