// SPDX-License-Identifier: MIT OR Apache-2.0
// A server (Larson and Krishnan): a thread replaces cells of random size at random places of its table, and after a number of them
// ends and leaves the table to a new thread, which so frees what another one allocated.
#include "bench.h"

enum { CELLS = 1000, LEAST = 8, MOST = 1000, PER_THREAD = 10000 };

struct table {
  void *cells[CELLS];
  uint64_t seed;
};
static struct table tables[MAX_THREADS];

static void *serve(void *argument) {
  struct table *table = argument;
  for (int i = 0; i < PER_THREAD; i++) {
    void **cell = &table->cells[random_below(&table->seed, CELLS)];
    free(*cell);
    *cell = allocate(LEAST + random_below(&table->seed, MOST - LEAST));
  }
  return NULL;
}

static void *body(void *index) {
  struct table *table = &tables[(size_t)index];
  table->seed = random_seed((size_t)index);
  for (int i = 0; i < CELLS; i++) table->cells[i] = allocate(LEAST + random_below(&table->seed, MOST - LEAST));
  for (size_t round = 0; round < operations / threads / PER_THREAD; round++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, table)) fail("no thread");
    pthread_join(thread, NULL);
  }
  for (int i = 0; i < CELLS; i++) free(table->cells[i]);
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  run_threads(body);
  printf("larson: %016llx\n", (unsigned long long)tables[0].seed);
}
