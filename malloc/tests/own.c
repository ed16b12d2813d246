// SPDX-License-Identifier: MIT OR Apache-2.0
// A program with a malloc of its own that lacks some of the names that are ours. By these, what is its own comes to its own functions.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(16) char arena[1 << 20];
static size_t at;
static int freed;

void *malloc(size_t size) {
  void *cell = arena + at;
  at += (size + 15) & ~(size_t)15;
  return at > sizeof arena ? NULL : cell;
}

// Nothing is used again, so what is there is zero.
void *calloc(size_t count, size_t size) { return malloc(count * size); }

static int is_own(const void *cell) { return (uintptr_t)cell - (uintptr_t)arena < sizeof arena; }

void free(void *cell) {
  if (cell && !is_own(cell)) abort();
  freed++;
}

void *realloc(void *cell, size_t size) {
  if (cell && !is_own(cell)) abort();
  char *copy = malloc(size);
  // The old cell is in front of it.
  size_t most = cell ? (size_t)(copy - (char *)cell) : 0;
  return copy && cell ? memcpy(copy, cell, size < most ? size : most) : copy;
}

typedef void sized(void *, size_t), aligned_sized(void *, size_t, size_t);

int main(void) {
  char *cell = reallocarray(strcpy(malloc(10), "123456789"), 100, 10);
  if (!cell || !is_own(cell) || strcmp(cell, "123456789") != 0) return 1;
  // The C library may not have these.
  sized *free_sized = (sized *)dlsym(RTLD_DEFAULT, "free_sized");
  aligned_sized *free_aligned_sized = (aligned_sized *)dlsym(RTLD_DEFAULT, "free_aligned_sized");
  if (!free_sized || !free_aligned_sized) return 2;
  int before = freed;
  free_sized(malloc(10), 10);
  free_aligned_sized(malloc(10), 8, 10);
  return freed != before + 2;
}
