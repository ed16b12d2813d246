// SPDX-License-Identifier: MIT OR Apache-2.0
// A program that puts a malloc of its own before the C library's, by the names that glibc has for that. It leaves `realloc` and
// `posix_memalign` as they are, so that cells go from the one to the other.
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_memalign(size_t align, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);
void __libc_free(void *pointer);

static int allocated, freed;

void *malloc(size_t size) {
  allocated++;
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  allocated++;
  return __libc_calloc(count, size);
}

void *memalign(size_t align, size_t size) {
  allocated++;
  return __libc_memalign(align, size);
}

void *valloc(size_t size) {
  allocated++;
  return __libc_valloc(size);
}

void *pvalloc(size_t size) {
  allocated++;
  return __libc_pvalloc(size);
}

void free(void *pointer) {
  freed += pointer != NULL;
  __libc_free(pointer);
}

int main(void) {
  for (size_t size = 1; size < 10 << 20; size += size) {
    void *cells[6] = {malloc(size), calloc(1, size), memalign(64, size), valloc(size), pvalloc(size), NULL};
    if (posix_memalign(&cells[5], 64, size)) return 1;
    for (int i = 0; i < 6; i++) {
      cells[i] = realloc(cells[i], 2 * size);
      if (!cells[i]) return 1;
      ((volatile char *)cells[i])[2 * size - 1] = 1;
      free(cells[i]);
    }
  }
  return allocated < 5 * 24 || freed < 6 * 24;
}
