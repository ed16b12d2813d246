// SPDX-License-Identifier: MIT OR Apache-2.0
// As sh6bench, but what is kept is freed by the next thread (after the description of MicroQuill's sh8bench).
#include "bench.h"
#include <stdatomic.h>

enum { BLOCK = 30, SLOTS = 256 };
static _Atomic(void **) slots[MAX_THREADS][SLOTS];

static void free_all(void **cells) {
  if (!cells) return;
  for (int i = BLOCK / 3 - 1; i >= 0; i--) free(cells[i]);
  free(cells);
}

static void *body(void *argument) {
  size_t index = (size_t)argument, next = (index + 1) % threads, at = 0;
  void *block[BLOCK];
  for (size_t done = 0; done < operations / threads; done += BLOCK) {
    size_t bytes = 1 + done / BLOCK % 500;
    bytes = bytes * bytes / 500 + 1;
    for (int i = 0; i < BLOCK; i++) block[i] = allocate(bytes);
    for (int i = 0; i < BLOCK / 3; i++) free(block[i]);
    for (int i = 2 * BLOCK / 3 - 1; i >= BLOCK / 3; i--) free(block[i]);
    void **kept = allocate(BLOCK / 3 * sizeof *kept);
    memcpy(kept, block + 2 * BLOCK / 3, BLOCK / 3 * sizeof *kept);
    // What nobody took is freed here.
    free_all(atomic_exchange(&slots[next][at], kept));
    free_all(atomic_exchange(&slots[index][at], NULL));
    at = (at + 1) % SLOTS;
  }
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  run_threads(body);
  for (size_t i = 0; i < threads; i++)
    for (int j = 0; j < SLOTS; j++) free_all(slots[i][j]);
  printf("sh8bench: %zu cells\n", operations / threads * threads);
}
