// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that only allocate, and as many that only free (Lever and Boreham; Eder): batches of cells of several sizes go from the
// former to the latter through a queue.
#include "bench.h"

enum { BATCH = 120, WAITING = 64 };
static const size_t sizes[] = {8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512};

struct batch {
  struct batch *next;
  void *cells[BATCH];
};
static struct batch *queue;
static size_t waiting, to_come;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t freed;

static void *produce(void *index) {
  uint64_t seed = random_seed((size_t)index);
  for (size_t round = 0; round < operations / threads / BATCH; round++) {
    struct batch *batch = allocate(sizeof *batch);
    for (int i = 0; i < BATCH; i++) batch->cells[i] = allocate(sizes[random_below(&seed, sizeof sizes / sizeof *sizes)]);
    pthread_mutex_lock(&mutex);
    while (waiting == WAITING) pthread_cond_wait(&changed, &mutex);
    batch->next = queue;
    queue = batch;
    waiting++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

static struct batch *next_batch(void) {
  pthread_mutex_lock(&mutex);
  while (!queue && to_come) pthread_cond_wait(&changed, &mutex);
  struct batch *batch = queue;
  if (batch) {
    queue = batch->next;
    waiting--;
    freed += BATCH;
    to_come--;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mutex);
  return batch;
}

static void *consume(void *index) {
  (void)index;
  struct batch *batch;
  while ((batch = next_batch())) {
    for (int i = 0; i < BATCH; i++) free(batch->cells[i]);
    free(batch);
  }
  return NULL;
}

static void *body(void *index) {
  pthread_t consumer;
  if (pthread_create(&consumer, NULL, consume, NULL)) fail("no thread");
  produce(index);
  pthread_join(consumer, NULL);
  return NULL;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  to_come = operations / threads / BATCH * threads;
  run_threads(body);
  printf("xmalloc-test: %llu cells\n", (unsigned long long)freed);
}
