// SPDX-License-Identifier: MIT OR Apache-2.0
// Pairs of malloc and free of 16 to 64 bytes in one thread, to count instructions: see scripts/experiments/malloc-instructions.sh.
#include "bench.h"

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  for (size_t i = 0; i < operations; i++) {
    void *cell = malloc(16 + i % 4 * 16);
    __asm__ volatile("" : : "r"(cell) : "memory");
    free(cell);
  }
  printf("pairs: %zu\n", operations);
}
