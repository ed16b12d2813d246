// SPDX-License-Identifier: MIT OR Apache-2.0
// What a program does wrong, by the names of the C library. Without arguments it lists the cases, a line each: the name, and the
// line that secure mode says, up to the address. With a name it does that. To be run with the secure library preloaded.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define DOUBLE_FREE "shardsweep: double free of the cell at"
#define FOREIGN "shardsweep: a pointer is freed that is no cell's:"
#define OVERWRITTEN "shardsweep: a free list was overwritten in the cell at"
#define SIGNAL "Segmentation fault"

// What the compiler cannot see through.
static void *hide(void *pointer) {
  __asm__ volatile("" : "+r"(pointer));
  return pointer;
}

static void *allocate(size_t bytes) { return hide(malloc(bytes)); }

static void elsewhere(void *(*run)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, argument) || pthread_join(thread, NULL)) _exit(2);
}

static void *free_it(void *cell) {
  free(allocate(1));
  free(cell);
  return NULL;
}

static void twice(size_t bytes) {
  void *kept = allocate(bytes), *cell = allocate(bytes);
  free(cell);
  free(hide(cell));
  free(kept);
}

static void twice_small(void) { twice(40); }
static void twice_smallest(void) { twice(8); }
static void twice_medium(void) { twice(20000); }
static void twice_large(void) { twice(300000); }
static void twice_huge(void) { twice(20 << 20); }

// With others freed between the two.
static void twice_later(void) {
  void *cells[100];
  for (int i = 0; i < 100; i++) cells[i] = allocate(64);
  for (int i = 0; i < 90; i++) free(cells[i]);
  free(cells[50]);
}

static void twice_first_elsewhere(void) {
  void *kept = allocate(40), *cell = allocate(40);
  elsewhere(free_it, cell);
  free(cell);
  free(kept);
}

static void first_elsewhere(size_t bytes) {
  void *cell = allocate(bytes);
  elsewhere(free_it, cell);
  free(cell);
}

static void large_first_elsewhere(void) { first_elsewhere(300000); }
static void huge_first_elsewhere(void) { first_elsewhere(20 << 20); }

static void huge_realloc_freed(void) {
  void *cell = allocate(20 << 20);
  elsewhere(free_it, cell);
  cell = hide(realloc(hide(cell), 30 << 20));
}

static void twice_then_elsewhere(void) {
  void *kept = allocate(40), *cell = allocate(40);
  free(cell);
  elsewhere(free_it, cell);
  free(kept);
}

static void *free_both(void *cells) {
  void **pair = cells;
  free(pair[0]);
  free(pair[1]);
  free(pair[0]);
  return NULL;
}

static void twice_elsewhere(void) {
  void *cells[] = {allocate(40), allocate(40), allocate(40)};
  elsewhere(free_both, cells);
}

static void *free_at_once(void *cell) {
  static atomic_int ready;
  free(allocate(1));
  for (atomic_fetch_add(&ready, 1); atomic_load(&ready) < 2;) {}
  free(cell);
  return NULL;
}

// By two threads, of which the one that allocated is one, or none.
static void at_once(size_t bytes, bool by_owner) {
  void *kept = allocate(bytes), *cell = allocate(bytes);
  pthread_t threads[2];
  int others = by_owner ? 1 : 2;
  for (int i = 0; i < others; i++) {
    if (pthread_create(&threads[i], NULL, free_at_once, cell)) _exit(2);
  }
  if (by_owner) free_at_once(cell);
  for (int i = 0; i < others; i++) pthread_join(threads[i], NULL);
  free(kept);
}

static void twice_at_once(void) { at_once(40, false); }
static void large_at_once(void) { at_once(2 << 20, false); }
static void large_at_once_by_owner(void) { at_once(300000, true); }

enum { SMALLEST = 70000 };
static void *smallest[SMALLEST];

// Cells of several blocks, of which the first ones are full.
static void allocate_smallest(void) {
  for (int i = 0; i < SMALLEST; i++) smallest[i] = allocate(8);
}

// The block is full: the free by another thread is delayed, until the owner looks.
static void twice_delayed(void) {
  allocate_smallest();
  elsewhere(free_it, smallest[10]);
  elsewhere(free_it, smallest[10]);
  allocate_smallest();
}

static void twice_delayed_by_owner(void) {
  allocate_smallest();
  elsewhere(free_it, smallest[10]);
  free(hide(smallest[10]));
}

static void *free_two_blocks(void *unused) {
  free(smallest[10]);
  free(smallest[20000]);
  return unused;
}

// Two that wait for the owner: the link of the second leads to the first, in another block.
static void delay_two(void) {
  allocate_smallest();
  elsewhere(free_two_blocks, NULL);
}

static void twice_delayed_first(void) {
  delay_two();
  elsewhere(free_it, smallest[10]);
}

static void twice_delayed_second(void) {
  delay_two();
  elsewhere(free_it, smallest[20000]);
  allocate_smallest();
}

static void twice_delayed_second_by_owner(void) {
  delay_two();
  free(hide(smallest[20000]));
  allocate_smallest();
}

static void realloc_freed(void) {
  void *kept = allocate(40), *cell = allocate(40);
  free(cell);
  cell = hide(realloc(hide(cell), 4000));
  free(kept);
}

static void foreign_stack(void) {
  free(allocate(1));
  uint64_t words[4] = {0};
  free(hide(&words[2]));
}

static void foreign_inside(void) { free((char *)allocate(64) + 16); }
static void foreign_unaligned(void) { free((char *)allocate(64) + 3); }
static void foreign_inside_large(void) { free((char *)allocate(300000) + 4096); }
static void foreign_inside_huge(void) { free((char *)allocate(20 << 20) + (8 << 20)); }
// The block has cells behind it that were never handed out.
static void foreign_behind(void) {
  char *cell = allocate(20000);
  free(hide(cell + malloc_usable_size(cell)));
}

static void foreign_header(void) { free((void *)(((uintptr_t)allocate(64) & ~(uintptr_t)((4 << 20) - 1)) + 1024)); }
static void foreign_low(void) { free(hide((void *)4096)); }
static void foreign_high(void) { free(hide((void *)0xffff800000001000)); }
static void foreign_realloc(void) { free(hide(realloc((char *)allocate(64) + 16, 4000))); }

static void write_freed(void *cell) { *(uint64_t *)hide(cell) = 0x4141414141414141; }

static void overwritten(void) {
  void *cells[100];
  for (int i = 0; i < 100; i++) cells[i] = allocate(64);
  for (int i = 0; i < 100; i++) free(cells[i]);
  write_freed(cells[50]);
  for (int i = 0; i < 100000; i++) allocate(64);
}

// A link that a program can make up leads nowhere.
static void overwritten_by_address(void) {
  void *cells[100];
  for (int i = 0; i < 100; i++) cells[i] = allocate(64);
  for (int i = 0; i < 50; i++) free(cells[i]);
  *(void **)hide(cells[20]) = cells[70];
  for (int i = 0; i < 100000; i++) allocate(64);
}

static void *free_all(void *cells) {
  for (int i = 0; i < 50; i++) free(((void **)cells)[i]);
  return NULL;
}

static void overwritten_elsewhere(void) {
  void *cells[100];
  for (int i = 0; i < 100; i++) cells[i] = allocate(64);
  elsewhere(free_all, cells);
  write_freed(cells[20]);
  for (int i = 0; i < 100000; i++) allocate(64);
}

static void past_small(void) {
  free(allocate(64));
  memset(hide(allocate(64)), 1, 66000);
}

static void past_large(void) {
  char *cell = allocate(300000);
  ((char *)hide(cell))[malloc_usable_size(cell)] = 1;
}

static void past_huge(void) {
  char *cell = allocate(20 << 20);
  ((char *)hide(cell))[malloc_usable_size(cell)] = 1;
}

// Before the first block of a chunk is its header.
static void before_first(void) {
  char *cell = allocate(64);
  for (char *at = cell; at > cell - (4 << 20); at -= 64) *(volatile char *)at = 1;
}

static const struct {
  const char *name;
  void (*run)(void);
  const char *line;
} cases[] = {{"twice-small", twice_small, DOUBLE_FREE},
             {"twice-smallest", twice_smallest, DOUBLE_FREE},
             {"twice-medium", twice_medium, DOUBLE_FREE},
             {"twice-large", twice_large, DOUBLE_FREE},
             {"twice-huge", twice_huge, DOUBLE_FREE},
             {"twice-later", twice_later, DOUBLE_FREE},
             {"twice-first-elsewhere", twice_first_elsewhere, DOUBLE_FREE},
             {"large-first-elsewhere", large_first_elsewhere, DOUBLE_FREE},
             {"huge-first-elsewhere", huge_first_elsewhere, DOUBLE_FREE},
             {"huge-realloc-freed", huge_realloc_freed, DOUBLE_FREE},
             {"twice-then-elsewhere", twice_then_elsewhere, DOUBLE_FREE},
             {"twice-elsewhere", twice_elsewhere, DOUBLE_FREE},
             {"twice-at-once", twice_at_once, DOUBLE_FREE},
             {"large-at-once", large_at_once, DOUBLE_FREE},
             {"large-at-once-by-owner", large_at_once_by_owner, DOUBLE_FREE},
             {"twice-delayed", twice_delayed, DOUBLE_FREE},
             {"twice-delayed-by-owner", twice_delayed_by_owner, DOUBLE_FREE},
             {"twice-delayed-first", twice_delayed_first, DOUBLE_FREE},
             {"twice-delayed-second", twice_delayed_second, DOUBLE_FREE},
             {"twice-delayed-second-by-owner", twice_delayed_second_by_owner, DOUBLE_FREE},
             {"realloc-freed", realloc_freed, DOUBLE_FREE},
             {"foreign-stack", foreign_stack, FOREIGN},
             {"foreign-inside", foreign_inside, FOREIGN},
             {"foreign-unaligned", foreign_unaligned, FOREIGN},
             {"foreign-inside-large", foreign_inside_large, FOREIGN},
             {"foreign-inside-huge", foreign_inside_huge, FOREIGN},
             {"foreign-behind", foreign_behind, FOREIGN},
             {"foreign-header", foreign_header, FOREIGN},
             {"foreign-low", foreign_low, FOREIGN},
             {"foreign-high", foreign_high, FOREIGN},
             {"foreign-realloc", foreign_realloc, FOREIGN},
             {"overwritten", overwritten, OVERWRITTEN},
             {"overwritten-by-address", overwritten_by_address, OVERWRITTEN},
             {"overwritten-elsewhere", overwritten_elsewhere, OVERWRITTEN},
             {"past-small", past_small, SIGNAL},
             {"past-large", past_large, SIGNAL},
             {"past-huge", past_huge, SIGNAL},
             {"before-first", before_first, SIGNAL}};

int main(int count, char **arguments) {
  // Where the system keeps cores, timeout would say so between the lines that are looked at.
  if (prctl(PR_SET_DUMPABLE, 0)) return 2;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (count == 1) {
      printf("%s %s\n", cases[i].name, cases[i].line);
    } else if (strcmp(arguments[1], cases[i].name) == 0) {
      cases[i].run();
      return 0;
    }
  }
  return count == 1 ? 0 : 2;
}
