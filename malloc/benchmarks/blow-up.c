// SPDX-License-Identifier: MIT OR Apache-2.0
// A producer and a consumer each, for long: what is in flight is bounded, so what is held has to be, too (Berger and others' Hoard).
#include "bench.h"
#include <sched.h>
#include <stdatomic.h>

enum { FLIGHT = 4096 };
static _Atomic(void *) ring[MAX_THREADS][FLIGHT];

static void *consume(void *argument) {
  size_t index = (size_t)argument;
  for (size_t i = 0; i < operations / threads; i++) {
    void *cell;
    while (!(cell = atomic_exchange(&ring[index][i % FLIGHT], NULL))) sched_yield();
    free(cell);
  }
  return NULL;
}

static void *body(void *argument) {
  size_t index = (size_t)argument;
  uint64_t seed = random_seed(index);
  pthread_t consumer;
  if (pthread_create(&consumer, NULL, consume, argument)) fail("no thread");
  for (size_t i = 0; i < operations / threads; i++) {
    void *cell = allocate(16 + random_below(&seed, 500)), *none = NULL;
    while (!atomic_compare_exchange_strong(&ring[index][i % FLIGHT], &none, cell)) {
      none = NULL;
      sched_yield();
    }
  }
  pthread_join(consumer, NULL);
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  run_threads(body);
  printf("blow-up: %zu cells\n", operations / threads * threads);
}
