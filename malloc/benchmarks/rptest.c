// SPDX-License-Identifier: MIT OR Apache-2.0
// Each thread allocates cells of sizes from 16 bytes to 16 KiB in loops, frees some of them itself and hands the others to the other
// threads (after the description of rpmalloc's benchmark). A thread that is far behind gets none: what waits for it is bounded.
#include "bench.h"
#include <stdatomic.h>
#include <stdbool.h>

enum { PER_LOOP = 1000, LEAST = 16, MOST = 16000, AHEAD = 16 };
struct cell {
  struct cell *next;
};
static _Atomic(struct cell *) handed[MAX_THREADS];
static struct {
  _Alignas(64) _Atomic(size_t) rounds;
} done[MAX_THREADS];

// False if the other thread is too far behind this one, which is in that round.
static bool hand(struct cell *cell, size_t to, size_t round) {
  if (round > atomic_load_explicit(&done[to].rounds, memory_order_relaxed) + AHEAD) return false;
  struct cell *first = atomic_load(&handed[to]);
  do cell->next = first;
  while (!atomic_compare_exchange_weak(&handed[to], &first, cell));
  return true;
}

static void free_handed(size_t index) {
  struct cell *cell = atomic_exchange(&handed[index], NULL);
  while (cell) {
    struct cell *next = cell->next;
    free(cell);
    cell = next;
  }
}

static void *body(void *argument) {
  size_t index = (size_t)argument;
  uint64_t seed = random_seed(index);
  struct cell *cells[PER_LOOP];
  for (size_t round = 0; round < operations / threads / PER_LOOP; round++) {
    for (int i = 0; i < PER_LOOP; i++) {
      // As many in each doubling.
      size_t most = LEAST + ((size_t)MOST >> random_below(&seed, 10));
      cells[i] = allocate(LEAST + random_below(&seed, most - LEAST));
    }
    for (int i = 0; i < PER_LOOP; i++) {
      if (i % 3 || !hand(cells[i], random_below(&seed, threads), round)) free(cells[i]);
    }
    free_handed(index);
    atomic_store_explicit(&done[index].rounds, round + 1, memory_order_relaxed);
  }
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  run_threads(body);
  for (size_t i = 0; i < threads; i++) free_handed(i);
  printf("rptest: %zu cells\n", operations / threads / PER_LOOP * PER_LOOP * threads);
}
