// SPDX-License-Identifier: MIT OR Apache-2.0
// What the benchmark programs share. Each is called with the number of threads and of operations, which the threads share out,
// and prints a line that depends on these two alone, so that a run can be checked.
#ifndef BENCH_H
#define BENCH_H
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 64 };

static size_t threads, operations;

_Noreturn static inline void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

// Marsaglia's xorshift. The state is never 0.
static inline uint64_t random_next(uint64_t *state) {
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return *state = x;
}

static inline size_t random_below(uint64_t *state, size_t end) { return (size_t)((random_next(state) >> 32) * end >> 32); }

static inline uint64_t random_seed(size_t thread) { return (thread + 1) * 0x9e3779b97f4a7c15u; }

// As malloc; the compiler knows nothing of the result, and the first and the last byte are written.
static inline void *allocate(size_t bytes) {
  unsigned char *cell = malloc(bytes);
  if (!cell) fail("no memory");
  __asm__ volatile("" : "+r"(cell));
  cell[0] = 1;
  cell[bytes - 1] = 1;
  return cell;
}

static inline size_t argument(const char *text, size_t least, size_t most) {
  char *end;
  unsigned long long number = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || number < least || number > most) {
    fprintf(stderr, "'%s' is not a number from %zu to %zu\n", text, least, most);
    exit(1);
  }
  return (size_t)number;
}

static inline void read_arguments(int count, char **arguments) {
  if (count != 3) fail("usage: PROGRAM THREADS OPERATIONS");
  threads = argument(arguments[1], 1, MAX_THREADS);
  operations = argument(arguments[2], 1, (size_t)1 << 40);
}

// Runs the body in each thread, with its number, until all have ended.
static inline void run_threads(void *(*body)(void *)) {
  pthread_t all[MAX_THREADS];
  for (size_t i = 0; i < threads; i++)
    if (pthread_create(&all[i], NULL, body, (void *)i)) fail("no thread");
  for (size_t i = 0; i < threads; i++) pthread_join(all[i], NULL);
}

#endif
