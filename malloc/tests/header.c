// SPDX-License-Identifier: MIT OR Apache-2.0
// Every function of shardsweep.h by its own name, in a program that is linked with the library.
#include "shardsweep.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t beats;

static void hook(bool force, uint64_t heartbeat, void *argument) {
  (void)force, (void)argument;
  assert(heartbeat != 0);
  beats++;
}

static bool count(void *cell, size_t bytes, void *argument) {
  assert(cell && bytes >= 100);
  ++*(int *)argument;
  return true;
}

static pthread_key_t key;

static void end_heap(void *heap) {
  shardsweep_heap_destroy(heap);
}

// Leaves its heap to the destructor of a key.
static void *use_heap(void *unused) {
  (void)unused;
  shardsweep_heap *heap = shardsweep_heap_new();
  assert(shardsweep_heap_malloc(heap, 50));
  assert(pthread_setspecific(key, heap) == 0);
  return NULL;
}

static pthread_barrier_t all_ready;

static void *allocate(void *cells) {
  for (int i = 0; i < 5000; i++) {
    if (i == 1) pthread_barrier_wait(&all_ready);
    ((void **)cells)[i] = shardsweep_malloc(48);
  }
  pthread_barrier_wait(&all_ready);
  return NULL;
}

static int compare(const void *a, const void *b) {
  uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
  return (x > y) - (x < y);
}

static void heap_ends_with_thread(void) {
  static void *cells[3 * 5000];
  pthread_t threads[3];
  assert(pthread_key_create(&key, end_heap) == 0 && pthread_barrier_init(&all_ready, NULL, 3) == 0);
  assert(pthread_create(&threads[0], NULL, use_heap, NULL) == 0 && pthread_join(threads[0], NULL) == 0);
  for (int i = 0; i < 3; i++) assert(pthread_create(&threads[i], NULL, allocate, &cells[i * 5000]) == 0);
  for (int i = 0; i < 3; i++) assert(pthread_join(threads[i], NULL) == 0);
  qsort(cells, 3 * 5000, sizeof(void *), compare);
  for (int i = 1; i < 3 * 5000; i++) assert(cells[i] != cells[i - 1]);
}

enum { LARGE_CELLS = 100, LARGE = 800 << 10 };

static void *free_all(void *cells) {
  for (int i = 0; i < LARGE_CELLS; i++) shardsweep_free(((void **)cells)[i]);
  return NULL;
}

static size_t resident_pages(void) {
  size_t all = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert(file && fscanf(file, "%zu %zu", &all, &resident) == 2);
  fclose(file);
  return resident;
}

// Collecting sees what other threads freed in any heap of the thread, or in one.
static void collect(bool all) {
  void *cells[LARGE_CELLS];
  pthread_t thread;
  shardsweep_heap *heap = shardsweep_heap_new();
  size_t before = resident_pages();
  for (int i = 0; i < LARGE_CELLS; i++) cells[i] = memset(shardsweep_heap_malloc(heap, LARGE), 1, LARGE);
  assert(pthread_create(&thread, NULL, free_all, cells) == 0 && pthread_join(thread, NULL) == 0);
  if (all) {
    shardsweep_collect(true);
  } else {
    shardsweep_heap_collect(heap, true);
  }
  assert(resident_pages() < before + LARGE_CELLS / 10 * LARGE / 4096);
  shardsweep_heap_delete(heap);
}

static size_t resident_in(void *start, size_t bytes) {
  static unsigned char pages[LARGE / 4096];
  size_t resident = 0;
  assert(mincore(start, bytes, pages) == 0);
  for (size_t i = 0; i < bytes / 4096; i++) resident += pages[i] & 1;
  return resident;
}

static void allocate_only(void) {
  // Each of them takes the generic path.
  for (int i = 0; i < 80; i++) assert(shardsweep_malloc(4000));
}

static void free_only(void) {
  shardsweep_free(shardsweep_malloc(LARGE / 8));
}

// Whether the pages of a cell are held when it is freed, and a second later, after the thread has used the allocator again.
static void frees_pages(int64_t delay, void (*use)(void), bool at_first, bool at_last) {
  assert(shardsweep_set_option(SHARDSWEEP_RESET_DELAY, delay));
  char *cell = memset(shardsweep_malloc(LARGE), 1, LARGE);
  char *start = (char *)(((uintptr_t)cell + 4095) & ~(uintptr_t)4095);
  size_t bytes = (size_t)(cell + LARGE - start) & ~(size_t)4095, all = bytes / 4096;
  assert(resident_in(start, bytes) == all);
  shardsweep_free(cell);
  assert(resident_in(start, bytes) == (at_first ? all : 0));
  if (at_first) {
    sleep(1);
    use();
    // Others may have some of them.
    assert(at_last ? resident_in(start, bytes) == all : resident_in(start, bytes) <= all / 2);
  }
}

static void pages_go_back_in_time(void) {
  frees_pages(0, NULL, false, false);
  frees_pages(500, free_only, true, false);
  frees_pages(500, allocate_only, true, false);
  frees_pages(-1, free_only, true, true);
  assert(shardsweep_set_option(SHARDSWEEP_RESET_DELAY, 100));
}

enum { PARTS = 12000, PART = 60000 };
static void *parts[PARTS];

static void *free_parts(void *unused) {
  (void)unused;
  for (int i = 0; i < PARTS; i++) shardsweep_free(parts[i]);
  return NULL;
}

// Where the OS has no memory, a heap gets what was freed in another of the thread.
static void heaps_share(void) {
  struct rlimit limit = {1 << 30, 1 << 30};
  pthread_t thread;
  shardsweep_heap *heap = shardsweep_heap_new();
  assert(setrlimit(RLIMIT_AS, &limit) == 0);
  for (int i = 0; i < PARTS; i++) {
    parts[i] = shardsweep_heap_malloc(heap, PART);
    assert(parts[i]);
  }
  assert(pthread_create(&thread, NULL, free_parts, NULL) == 0 && pthread_join(thread, NULL) == 0);
  void *all = shardsweep_malloc((size_t)PARTS * PART);
  assert(all);
  shardsweep_free(all);
  shardsweep_heap_delete(heap);
}

// A program that is linked with the library has its malloc, too.
static void malloc_is_ours(void) {
  void *volatile cell = malloc(100);
  assert(shardsweep_heap_contains(shardsweep_heap_default(), cell));
  shardsweep_free(cell);
  cell = shardsweep_malloc(100);
  free(cell);
}

int main(void) {
  char *p = shardsweep_malloc(10), *q = shardsweep_calloc(10, 10);
  assert(p && q && shardsweep_malloc_usable_size(p) >= 10);
  for (int i = 0; i < 100; i++) assert(q[i] == 0);
  strcpy(p, "123456789");
  p = shardsweep_reallocarray(shardsweep_realloc(p, 5000), 100, 1000);
  assert(strcmp(p, "123456789") == 0);
  void *aligned = NULL;
  assert(shardsweep_posix_memalign(&aligned, 4096, 5) == 0 && (uintptr_t)aligned % 4096 == 0);
  shardsweep_free(aligned);
  aligned = shardsweep_aligned_alloc(256, 5);
  assert((uintptr_t)aligned % 256 == 0);
  shardsweep_free(aligned), shardsweep_free(p), shardsweep_free(q);

  shardsweep_heap *kept = shardsweep_heap_new(), *gone = shardsweep_heap_new();
  void *cell = shardsweep_heap_malloc(kept, 100);
  assert(shardsweep_heap_contains(kept, cell) && !shardsweep_heap_contains(gone, cell));
  for (int i = 0; i < 1000; i++) assert(shardsweep_heap_calloc(gone, 5, 20) && shardsweep_heap_aligned_alloc(gone, 64, 200));
  int cells = 0;
  shardsweep_heap_visit(gone, count, &cells);
  assert(cells == 2000);
  shardsweep_heap_delete(kept);
  shardsweep_heap_destroy(gone);
  memset(cell, 1, 100);
  shardsweep_free(cell);

  shardsweep_set_deferred_free(hook, NULL);
  for (int i = 0; i < 10000; i++) shardsweep_free(shardsweep_malloc(64));
  shardsweep_set_deferred_free(NULL, NULL);
  assert(beats > 0);
  assert(shardsweep_set_option(SHARDSWEEP_RESET_DELAY, 5) && shardsweep_get_option(SHARDSWEEP_RESET_DELAY) == 5);
  assert(!shardsweep_set_option(99, 5));
  assert(shardsweep_set_option(SHARDSWEEP_SHOW_STATS, 1) && shardsweep_get_option(SHARDSWEEP_SHOW_STATS) == 1);
  assert(shardsweep_get_option(SHARDSWEEP_RESET_DELAY) == 5);
  shardsweep_print_stats();
  assert(shardsweep_heap_contains(shardsweep_heap_default(), p = shardsweep_malloc(10)));
  shardsweep_free(p);
  malloc_is_ours();
  collect(true);
  collect(false);
  pages_go_back_in_time();
  heap_ends_with_thread();
  heaps_share();
  return 0;
}
