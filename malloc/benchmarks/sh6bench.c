// SPDX-License-Identifier: MIT OR Apache-2.0
// Blocks of cells of growing sizes in each thread; of each block a part is freed at once in the order of its allocation, a part in
// reverse, and a part many blocks later (after the description of MicroQuill's sh6bench).
#include "bench.h"

enum { BLOCK = 30, KEPT = 3000 };

static void *body(void *index) {
  (void)index;
  void **kept = calloc(KEPT, sizeof *kept), *block[BLOCK];
  size_t at = 0;
  for (size_t done = 0; done < operations / threads; done += BLOCK) {
    size_t bytes = 1 + done / BLOCK % 1000;
    // Small ones are the most.
    bytes = bytes * bytes / 1000 + 1;
    for (int i = 0; i < BLOCK; i++) block[i] = allocate(bytes);
    for (int i = 0; i < BLOCK / 3; i++) free(block[i]);
    for (int i = 2 * BLOCK / 3 - 1; i >= BLOCK / 3; i--) free(block[i]);
    for (int i = 2 * BLOCK / 3; i < BLOCK; i++) {
      free(kept[at]);
      kept[at] = block[i];
      at = (at + 1) % KEPT;
    }
  }
  for (size_t i = 0; i < KEPT; i++) free(kept[i]);
  free(kept);
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  run_threads(body);
  printf("sh6bench: %zu cells\n", operations / threads * threads);
}
