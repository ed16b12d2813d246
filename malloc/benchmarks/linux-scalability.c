// SPDX-License-Identifier: MIT OR Apache-2.0
// Pairs of malloc and free of one size, and nothing else, in each thread (Lever and Boreham).
#include "bench.h"

enum { BYTES = 512 };

static void *body(void *index) {
  (void)index;
  for (size_t i = 0; i < operations / threads; i++) free(allocate(BYTES));
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  run_threads(body);
  printf("linux-scalability: %zu pairs\n", operations / threads * threads);
}
