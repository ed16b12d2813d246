// SPDX-License-Identifier: MIT OR Apache-2.0
// Cells of random sizes, small ones most, at random places of a table, so that each lives for a random time (after the description
// of OLogN's alloc-test, with its Pareto sizes).
#include "bench.h"

enum { CELLS = 1 << 15, LOG_MOST = 10 };
static uint64_t sums[MAX_THREADS];

static size_t pareto(uint64_t *seed) {
  // Each doubling has half as many as the one before.
  int log = __builtin_ctzll(random_next(seed) | (uint64_t)1 << LOG_MOST);
  return ((size_t)1 << log) + random_below(seed, (size_t)1 << log);
}

static void *body(void *index) {
  uint64_t seed = random_seed((size_t)index), sum = 0;
  unsigned char **cells = calloc(CELLS, sizeof *cells);
  for (size_t i = 0; i < operations / threads; i++) {
    unsigned char **cell = &cells[random_below(&seed, CELLS)];
    if (*cell) {
      sum += **cell;
      free(*cell);
      *cell = NULL;
    } else {
      *cell = allocate(pareto(&seed));
    }
  }
  for (size_t i = 0; i < CELLS; i++) free(cells[i]);
  free(cells);
  sums[(size_t)index] = sum;
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  run_threads(body);
  printf("alloc-test: %llu freed\n", (unsigned long long)sums[0]);
}
