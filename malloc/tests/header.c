// SPDX-License-Identifier: MIT OR Apache-2.0
// Every function of shardsweep.h by its own name, in a program that is linked with the library.
#include "shardsweep.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

int main(void) {
  char *p = shardsweep_malloc(10), *q = shardsweep_calloc(10, 10);
  assert(p && q && q[99] == 0 && shardsweep_malloc_usable_size(p) >= 10);
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
  shardsweep_collect(true);
  return 0;
}
