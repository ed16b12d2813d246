// SPDX-License-Identifier: MIT OR Apache-2.0
// Rounds of threads that come and go, that keep cells of random sizes over random times, look whether they still hold what was
// written, and swap some with other threads through a table (after the description of mimalloc's test of this name).
#include "bench.h"
#include <stdatomic.h>

enum { ROUNDS = 10, SWAPPED = 1000, KEPT = 2000 };
static _Atomic(uintptr_t *) swapped[SWAPPED];

static size_t size_of(uint64_t *seed) {
  size_t kind = random_below(seed, 1000);
  return 2 + random_below(seed, kind == 0 ? 20000 : kind < 100 ? 1000 : 60);
}

static uintptr_t *fill(size_t words) {
  uintptr_t *cell = allocate(words * sizeof *cell);
  cell[0] = words;
  for (size_t i = 1; i < words; i++) cell[i] = words ^ i;
  return cell;
}

static void check_and_free(uintptr_t *cell) {
  if (!cell) return;
  for (size_t i = 1; i < cell[0]; i++)
    if (cell[i] != (cell[0] ^ i)) fail("a cell holds something else");
  free(cell);
}

static void *body(void *index) {
  uint64_t seed = random_seed((size_t)index);
  uintptr_t **kept = calloc(KEPT, sizeof *kept);
  for (size_t i = 0; i < operations / ROUNDS / threads; i++) {
    uintptr_t *cell = fill(size_of(&seed));
    switch (random_below(&seed, 8)) {
      case 0: cell = atomic_exchange(&swapped[random_below(&seed, SWAPPED)], cell); break;
      case 1:
      case 2:
      case 3: {
        uintptr_t **place = &kept[random_below(&seed, KEPT)], *old = *place;
        *place = cell;
        cell = old;
      }
    }
    check_and_free(cell);
  }
  for (size_t i = 0; i < KEPT; i++) check_and_free(kept[i]);
  free(kept);
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  for (int round = 0; round < ROUNDS; round++) {
    run_threads(body);
    // Some stay for the next round.
    for (int i = round; i < SWAPPED; i += 3) check_and_free(atomic_exchange(&swapped[i], NULL));
  }
  for (int i = 0; i < SWAPPED; i++) check_and_free(swapped[i]);
  printf("mstress: %zu cells\n", operations / ROUNDS / threads * threads * ROUNDS);
}
