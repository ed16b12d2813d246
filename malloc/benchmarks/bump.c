// SPDX-License-Identifier: MIT OR Apache-2.0
// A malloc that only advances a pointer, and frees nothing. It has no work of its own, but the program touches fresh memory all the time:
// what it costs is page faults and cache misses, not a bound of what an allocator can reach. Cells could be used again after a while only
// in programs that hold none for long. To be preloaded.
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { REGION = 64 << 20, HEADER = 16 };
static _Thread_local char *at __attribute__((tls_model("initial-exec")));
static _Thread_local char *end __attribute__((tls_model("initial-exec")));

// The bytes of a cell are before it.
static void *allocate(size_t align, size_t bytes) {
  if (bytes > PTRDIFF_MAX / 2 || align > REGION) goto none;
  char *cell = (char *)(((uintptr_t)at + HEADER + align - 1) & ~(align - 1));
  if (!at || bytes > (size_t)(end - at) || cell + bytes > end) {
    size_t region = bytes + align + HEADER > REGION ? bytes + align + HEADER : REGION;
    at = mmap(NULL, region, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      at = NULL;
      goto none;
    }
    end = at + region;
    cell = (char *)(((uintptr_t)at + HEADER + align - 1) & ~(align - 1));
  }
  at = cell + bytes;
  ((size_t *)cell)[-1] = bytes;
  return cell;
none:
  errno = ENOMEM;
  return NULL;
}

void *malloc(size_t bytes) { return allocate(16, bytes); }
void free(void *cell) { (void)cell; }

void *calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
  // No cell was used before.
  return allocate(16, bytes);
}

void *realloc(void *cell, size_t bytes) {
  void *copy = allocate(16, bytes);
  if (copy && cell) {
    size_t old = ((size_t *)cell)[-1];
    memcpy(copy, cell, old < bytes ? old : bytes);
  }
  return copy;
}

void *memalign(size_t align, size_t bytes) { return allocate(align < 16 ? 16 : align, bytes); }
void *aligned_alloc(size_t align, size_t bytes) { return memalign(align, bytes); }

int posix_memalign(void **cell, size_t align, size_t bytes) {
  void *found = memalign(align, bytes);
  if (!found) return ENOMEM;
  *cell = found;
  return 0;
}

size_t malloc_usable_size(void *cell) { return cell ? ((size_t *)cell)[-1] : 0; }
