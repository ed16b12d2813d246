// SPDX-License-Identifier: MIT OR Apache-2.0
// The corner cases of C's malloc family, by the names of the C library. Each case is named on the command line; the
// exit code says whether it holds. To be run with libshardsweep_malloc.so preloaded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      fprintf(stderr, "corners.c:%d: not so: %s\n", __LINE__, #condition);                \
      _exit(1);                                                                           \
    }                                                                                     \
  } while (0)

// What the compiler cannot see through: it knows malloc too well.
static volatile size_t big = SIZE_MAX / 2;

static void *hide(void *pointer) {
  __asm__ volatile("" : "+r"(pointer));
  return pointer;
}

static void fill(unsigned char *at, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++) at[i] = (unsigned char)(i * 31 + seed);
}

static int holds(const unsigned char *at, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++)
    if (at[i] != (unsigned char)(i * 31 + seed)) return 0;
  return 1;
}

// To one GiB of addresses.
static void limit_memory(void) {
  struct rlimit limit = {1 << 30, 1 << 30};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

// Without malloc, of which there may be none.
static size_t resident_kib(void) {
  char text[100] = "";
  size_t all = 0, resident = 0;
  int file = open("/proc/self/statm", O_RDONLY);
  CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0 && close(file) == 0);
  CHECK(sscanf(text, "%zu %zu", &all, &resident) == 2);
  return resident * 4;
}

static void size_zero(void) {
  void *a = hide(malloc(0)), *b = hide(malloc(0)), *c = hide(calloc(0, 8)), *d = hide(calloc(8, 0));
  CHECK(a && b && c && d && a != b && c != d && b != c);
  free(a), free(b), free(c), free(d);
  free(NULL);
  void *e = hide(realloc(NULL, 0));
  CHECK(e);
  CHECK(hide(realloc(e, 0)) == NULL);
  void *f = NULL;
  CHECK(posix_memalign(&f, 64, 0) == 0);
  free(f);
}

static void too_much(void) {
  errno = 0;
  CHECK(hide(malloc(big)) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(hide(malloc(SIZE_MAX - 4096 + big - big)) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(hide(calloc(big, 3)) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(hide(calloc(SIZE_MAX / 16 + 2, 16 + big - big)) == NULL && errno == ENOMEM);
  unsigned char *kept = hide(malloc(100));
  fill(kept, 100, 1);
  errno = 0;
  CHECK(hide(realloc(hide(kept), big)) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(hide(reallocarray(hide(kept), big, 4)) == NULL && errno == ENOMEM);
  CHECK(holds(kept, 100, 1));
  free(kept);
  void *unset = &unset;
  CHECK(posix_memalign(&unset, 64, big) == ENOMEM && unset == &unset);
  errno = 0;
  CHECK(hide(memalign(4096, big)) == NULL && errno == ENOMEM);
  CHECK(hide(pvalloc(SIZE_MAX - 10 + big - big)) == NULL);
}

// What a line of a file in /proc that begins with the name says.
static size_t number_in(const char *path, const char *name) {
  char line[200];
  size_t number = 0;
  FILE *file = fopen(path, "r");
  CHECK(file);
  do CHECK(fgets(line, sizeof line, file));
  while (strncmp(line, name, strlen(name)) != 0);
  CHECK(sscanf(line + strlen(name), "%zu", &number) == 1 && fclose(file) == 0);
  return number;
}

// The kernel refuses it, unless it is told otherwise.
static void more_than_the_machine_has(void) {
  if (number_in("/proc/sys/vm/overcommit_memory", "") != 0) return;
  const size_t has = (number_in("/proc/meminfo", "MemTotal:") + number_in("/proc/meminfo", "SwapTotal:")) << 10;
  for (size_t times = 3; times < 100; times *= 3) {
    errno = 0;
    CHECK(hide(malloc(times * has)) == NULL && errno == ENOMEM);
    void *kept = hide(malloc(10 << 20));
    errno = 0;
    CHECK(kept && hide(realloc(hide(kept), times * has)) == NULL && errno == ENOMEM);
    free(kept);
  }
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void __libc_free(void *pointer);
void *__libc_memalign(size_t align, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);

// What glibc calls its functions besides.
static void names_of_glibc(void) {
  void *cells[] = {__libc_malloc(100),        __libc_calloc(10, 10), __libc_realloc(NULL, 100),
                   __libc_memalign(64, 1000), __libc_valloc(100),    __libc_pvalloc(100)};
  for (int i = 0; i < 6; i++) {
    CHECK(cells[i] && malloc_usable_size(hide(cells[i])) >= 100);
    free(hide(cells[i]));
  }
  for (size_t size = 1; size < 10 << 20; size *= 2) {
    void *cell = __libc_realloc(hide(malloc(size)), 2 * size);
    CHECK(cell);
    __libc_free(cell);
  }
}

static void alignment(void) {
  CHECK(posix_memalign(&(void *){NULL}, 3, 8) == EINVAL);
  CHECK(posix_memalign(&(void *){NULL}, 4, 8) == EINVAL);
  CHECK(posix_memalign(&(void *){NULL}, 24, 8) == EINVAL);
  // No powers of two: memalign rounds up where it can, and aligned_alloc does not.
  static volatile size_t zero = 0, odd = 24, above_all = SIZE_MAX / 2 + 2;
  void *rounded = hide(memalign(odd, 8));
  CHECK(rounded && (uintptr_t)rounded % 32 == 0);
  free(rounded), free(hide(memalign(zero, 8)));
  CHECK((errno = 0, hide(memalign(above_all, 8)) == NULL && errno == EINVAL));
  CHECK((errno = 0, hide(__libc_memalign(above_all, 8)) == NULL && errno == EINVAL));
  CHECK((errno = 0, hide(memalign(above_all - 1, 8)) == NULL && errno == ENOMEM));
  CHECK((errno = 0, hide(aligned_alloc(zero, 8)) == NULL && errno == EINVAL));
  CHECK((errno = 0, hide(aligned_alloc(odd, 8)) == NULL && errno == EINVAL));
  for (size_t align = 8; align <= 4 << 20; align *= 2) {
    static const size_t sizes[] = {0, 1, 7, 24, 100, 1000, 1025, 5000, 70000, 300000, 5 << 20};
    void *all[2][11];
    for (int round = 0; round < 2; round++)
      for (int i = 0; i < 11; i++) {
        void *p = NULL;
        if (round) {
          p = hide(aligned_alloc(align, sizes[i]));
        } else {
          CHECK(posix_memalign(&p, align, sizes[i]) == 0);
        }
        CHECK(p && (uintptr_t)p % align == 0);
        CHECK(malloc_usable_size(p) >= sizes[i]);
        fill(p, sizes[i], (unsigned)i + 1);
        all[round][i] = p;
      }
    for (int round = 0; round < 2; round++)
      for (int i = 0; i < 11; i++) {
        CHECK(holds(all[round][i], sizes[i], (unsigned)i + 1));
        // An aligned cell can grow as any other.
        unsigned char *p = hide(realloc(all[round][i], sizes[i] + 5000));
        CHECK(p && holds(p, sizes[i], (unsigned)i + 1));
        free(p);
      }
  }
  void *v = hide(valloc(10)), *w = hide(pvalloc(10)), *m = hide(memalign(8192, 10));
  CHECK((uintptr_t)v % 4096 == 0 && (uintptr_t)w % 4096 == 0 && (uintptr_t)m % 8192 == 0);
  CHECK(malloc_usable_size(w) >= 4096);
  free(v), free(w), free(m);
  for (size_t size = 16; size < 200000; size += size / 7 + 1) {
    void *p = hide(malloc(size));
    CHECK((uintptr_t)p % 16 == 0);
    free(p);
  }
}

static void usable(void) {
  CHECK(malloc_usable_size(NULL) == 0);
  for (size_t size = 1; size < 6 << 20; size += size / 5 + 1) {
    unsigned char *p = hide(malloc(size)), *q = hide(malloc(size));
    size_t bytes = malloc_usable_size(p);
    CHECK(bytes >= size);
    fill(p, bytes, 3);
    fill(q, malloc_usable_size(q), 4);
    CHECK(holds(p, bytes, 3));
    free(p), free(q);
  }
}

static void zeroed(void) {
  for (int round = 0; round < 3; round++)
    for (size_t size = 1; size < 20 << 20; size += size / 2 + 1) {
      unsigned char *p = hide(calloc(1, size));
      CHECK(p);
      for (size_t i = 0; i < size; i++) CHECK(p[i] == 0);
      memset(p, 0xa5, size);
      free(p);
    }
}

static void realloc_every_way(void) {
  static const size_t sizes[] = {1,     8,     16,     24,      100,     1000,    1024,    1025,    8000,    9000,
                                 60000, 66000, 200000, 1 << 20, 3 << 20, 4 << 20, 5 << 20, 9 << 20, 20 << 20};
  const int count = sizeof sizes / sizeof *sizes;
  for (int from = 0; from < count; from++)
    for (int to = 0; to < count; to++) {
      size_t least = sizes[from] < sizes[to] ? sizes[from] : sizes[to];
      unsigned char *p = hide(malloc(sizes[from]));
      fill(p, sizes[from], 9);
      p = hide(realloc(p, sizes[to]));
      CHECK(p && malloc_usable_size(p) >= sizes[to] && holds(p, least, 9));
      fill(p, sizes[to], 10);
      CHECK(holds(p, sizes[to], 10));
      free(p);
    }
  // No cell is shorter than the first one.
  unsigned char *shortest = hide(malloc(1));
  const uintptr_t place = (uintptr_t)shortest;
  shortest = hide(realloc(shortest, 2));
  CHECK((uintptr_t)shortest == place);
  free(shortest);
  // A buffer that grows by the page, beside another.
  unsigned char *grows = NULL, *other = NULL;
  for (size_t bytes = 4096; bytes < 6 << 20; bytes += 40960) {
    grows = hide(realloc(grows, bytes));
    other = hide(realloc(other, bytes));
    CHECK(grows && other);
    fill(grows + bytes - 4096, 4096, 1);
    fill(other + bytes - 4096, 4096, 2);
    CHECK(holds(grows + bytes - 4096, 4096, 1));
  }
  free(grows), free(other);
}

// A huge buffer that grows in steps, with something behind it, moves as often as its length doubles some times. While it grows inside
// its room, the OS is not called: what was written behind it is still there.
static void grows_in_steps(void) {
  char *grows = NULL;
  int moves = 0, inside = 0;
  for (size_t bytes = 5 << 20, usable = 0; bytes < 256 << 20; bytes += 65536) {
    const uintptr_t before = (uintptr_t)grows;
    const size_t usable_before = usable;
    CHECK(grows = hide(realloc(grows, bytes)));
    usable = malloc_usable_size(grows);
    if ((uintptr_t)grows != before) {
      moves++;
    } else if (usable == usable_before) {
      CHECK(grows[usable - 1] == 1);
      inside++;
    }
    grows[usable - 1] = 1;
  }
  CHECK(moves < 64 && inside > 100);
  free(grows);
}

// So does a smaller one that is a block of its own.
static void large_grows_in_steps(void) {
  char *grows = NULL;
  int moves = 0;
  for (size_t bytes = 70000; bytes < 4 << 20; bytes += 4096) {
    const uintptr_t before = (uintptr_t)grows;
    CHECK(grows = hide(realloc(grows, bytes)));
    grows[bytes - 1] = 1;
    moves += (uintptr_t)grows != before;
  }
  CHECK(moves < 64);
  free(grows);
}

// What is shrunk by less than half stays, and its memory goes.
static void shrinks_a_little(void) {
  const size_t from = 64 << 20, to = 40 << 20;
  unsigned char *cell = hide(malloc(from));
  fill(cell, from, 3);
  const size_t before = resident_kib();
  const uintptr_t place = (uintptr_t)cell;
  cell = hide(realloc(cell, to));
  CHECK((uintptr_t)cell == place && holds(cell, to, 3));
  CHECK(resident_kib() + ((from - to) >> 10) < before + 1024);
  cell = hide(realloc(cell, from));
  CHECK((uintptr_t)cell == place && holds(cell, to, 3));
  fill(cell, from, 4);
  free(cell);
}

static void no_memory(void) {
  limit_memory();
  static const size_t sizes[] = {24, 1000, 30000, 100000, 3 << 20, 40 << 20};
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 6; i++) {
      void **list = NULL, **p;
      size_t count = 0;
      errno = 0;
      while ((p = hide(malloc(sizes[i])))) {
        *p = list;
        list = p;
        count++;
      }
      CHECK(errno == ENOMEM && count * sizes[i] > 500u << 20);
      while (list) {
        p = *list;
        free(list);
        list = p;
      }
    }
}

// What is freed is there for a cell of another size.
static void no_memory_but_of_other_sizes(void) {
  limit_memory();
  void **list = NULL, **p;
  for (size_t size = 16; size <= 8 << 10; size += (size / 8 + 15) & ~(size_t)15)
    for (size_t bytes = 0; bytes < 6 << 20; bytes += size) {
      CHECK(p = hide(malloc(size)));
      *p = list;
      list = p;
    }
  for (; list; list = p) {
    p = *list;
    free(list);
  }
  CHECK(p = hide(malloc(950 << 20)));
  free(p);
}

enum { PARTS = 12000, PART = 60000 };

// Frees every second part, from the one that is named on.
static void *free_half(void *parts) {
  for (void **part = parts, **end = part + PARTS; part < end; part += 2) free(*part);
  return NULL;
}

// Nor does it matter that another thread frees it, in blocks that no allocation looks at.
static void no_memory_but_what_others_freed(void) {
  static void *parts[PARTS + 1];
  limit_memory();
  for (int i = 0; i < PARTS; i++) CHECK(parts[i] = hide(malloc(PART)));
  for (int half = 0; half < 2; half++) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, free_half, parts + half) == 0 && pthread_join(thread, NULL) == 0);
    // Has the blocks leave the list of those without a free cell.
    if (half == 0) free(hide(malloc(100000)));
  }
  void *all = hide(malloc((size_t)PARTS * PART));
  CHECK(all);
  free(all);
}

// In secure mode pages without access lie in what is free then.
static void free_side_by_side(void) {
  void *cells[8];
  for (int i = 0; i < 8; i++) CHECK(cells[i] = hide(malloc(100000)));
  for (int i = 0; i < 8; i++) free(cells[i]);
}

// What is longer has access to them.
static void longer_than_what_was_freed(void) {
  free_side_by_side();
  unsigned char *cell = hide(malloc(800000));
  CHECK(cell);
  fill(cell, 800000, 1);
  CHECK(holds(cell, 800000, 1));
  free(cell);
}

// That costs memory.
static void no_memory_to_write(void) {
  free_side_by_side();
  struct rlimit limit = {4096, 4096};
  CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
  char *cell = hide(malloc(800000));
  CHECK(cell || errno == ENOMEM);
  if (cell) memset(cell, 1, 800000);
  free(cell);
}

static void *frees_and_allocates(void *cell) {
  free(cell);
  CHECK(cell = hide(malloc(900 << 20)));
  free(cell);
  return NULL;
}

// Nor that its owner waits, who would give it back.
static void no_memory_but_what_an_idle_thread_owns(void) {
  pthread_t thread;
  limit_memory();
  void *cell = hide(malloc(900 << 20));
  CHECK(cell && pthread_create(&thread, NULL, frees_and_allocates, cell) == 0 && pthread_join(thread, NULL) == 0);
}

enum { MANY = 64000 };
static void *many[MANY];

static void *allocates_many(void *unused) {
  for (int i = 0; i < MANY; i++) memset(many[i] = hide(malloc(1000)), 1, 1000);
  return unused;
}

static void *frees_many(void *unused) {
  for (int i = 0; i < MANY; i++) free(many[i]);
  return unused;
}

// Of a thread that has ended, by one that has never allocated.
static void freed_without_a_heap(void) {
  pthread_t thread;
  memset(many, 0, sizeof many);
  size_t before = resident_kib();
  CHECK(pthread_create(&thread, NULL, allocates_many, NULL) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, frees_many, NULL) == 0 && pthread_join(thread, NULL) == 0);
  // What it has freed serves others.
  for (int i = 0; i < MANY / 2; i++) memset(many[i] = hide(malloc(2000)), 1, 2000);
  CHECK(resident_kib() < before + MANY + 16384);
  for (int i = 0; i < MANY / 2; i++) free(many[i]);
  malloc_trim(0);
  CHECK(resident_kib() < before + 8192);
}

enum { LEFT = 6000 };

// Leaves more blocks than two searches look at, of which the last one has free cells.
static void *leaves_a_few_cells(void *unused) {
  void *last[8] = {NULL};
  for (int i = 0; i < LEFT; i++) CHECK(last[i % 8] = hide(malloc(1000)));
  for (int i = 0; i < 8; i++) free(last[i]);
  return unused;
}

// Nor does it matter that the thread has ended that freed it.
static void no_memory_but_what_a_thread_left(void) {
  static const size_t fills[] = {3 << 20, 100000, 10000, 200};
  pthread_t thread;
  limit_memory();
  CHECK(pthread_create(&thread, NULL, leaves_a_few_cells, NULL) == 0 && pthread_join(thread, NULL) == 0);
  for (int i = 0; i < 4; i++)
    while (hide(malloc(fills[i]))) {
    }
  CHECK(hide(malloc(1000)));
}

// Mappings of neighbours are one for the kernel, if no page is between. It has none to spare then for what is left on both sides of a
// cell that is freed: the cell's memory goes nevertheless.
static void no_mapping_to_spare(void) {
  enum { SIZES = 32, CELL = 8 << 20, TOUCHED = 4 << 20 };
  unsigned char *cells[3 * SIZES];
  for (int i = 0; i < 3 * SIZES; i++) {
    CHECK(cells[i] = hide(malloc(CELL - i / 3 * 4096)));
    memset(cells[i], 1, TOUCHED);
  }
  int access = PROT_NONE;
  while (mmap(NULL, 4096, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) access ^= PROT_READ;
  size_t before = resident_kib();
  // Others would give the kernel mappings.
  int freed = 0;
  for (unsigned char **cell = cells; cell < cells + 3 * SIZES; cell += 3)
    if (cell[0] - cell[1] == CELL && cell[1] - cell[2] == CELL) free(cell[1]), freed++;
  CHECK(freed > 0);
  CHECK(resident_kib() + freed * ((TOUCHED >> 10) - 100) <= before);
}

static void *shrinks[2];
static sem_t started, filled;

static void *shrink(void *unused) {
  free(hide(malloc(8)));
  CHECK(sem_post(&started) == 0 && sem_wait(&filled) == 0);
  CHECK(shrinks[0] = hide(realloc(shrinks[0], 300 << 10)));
  CHECK(shrinks[1] = hide(realloc(shrinks[1], 10000)));
  CHECK(holds(shrinks[0], 300 << 10, 5) && holds(shrinks[1], 10000, 6));
  return unused;
}

// What gets shorter needs no more memory, in the thread that allocated it and in another.
static void no_memory_to_shrink(void) {
  static const size_t fills[] = {1 << 20, 70000, 10000};
  limit_memory();
  CHECK(sem_init(&started, 0, 0) == 0 && sem_init(&filled, 0, 0) == 0);
  for (int elsewhere = 1; elsewhere >= 0; elsewhere--) {
    void **list = NULL, **p;
    pthread_t thread;
    if (elsewhere) CHECK(pthread_create(&thread, NULL, shrink, NULL) == 0 && sem_wait(&started) == 0);
    CHECK((shrinks[0] = hide(malloc(900 << 10))) && (shrinks[1] = hide(malloc(30000))));
    fill(shrinks[0], 900 << 10, 5);
    fill(shrinks[1], 30000, 6);
    for (int i = 0; i < 3; i++)
      while ((p = hide(malloc(fills[i])))) {
        *p = list;
        list = p;
      }
    CHECK(sem_post(&filled) == 0);
    if (elsewhere) {
      CHECK(pthread_join(thread, NULL) == 0);
    } else {
      shrink(NULL);
    }
    for (; list; list = p) {
      p = *list;
      free(list);
    }
    free(shrinks[0]), free(shrinks[1]);
  }
}

static void *only_trims(void *unused) {
  CHECK(sem_wait(&filled) == 0);
  malloc_trim(0);
  return unused;
}

// The OS has no memory for a heap of the thread that asks. What is free goes back all the same.
static void no_memory_to_trim(void) {
  pthread_t thread;
  limit_memory();
  CHECK(sem_init(&filled, 0, 0) == 0 && pthread_create(&thread, NULL, only_trims, NULL) == 0);
  unsigned char *cell = hide(malloc(3 << 20));
  fill(cell, 3 << 20, 1);
  for (size_t bytes = 1 << 30; bytes >= 4096;)
    if (mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) bytes /= 2;
  const size_t before = resident_kib();
  free(cell);
  CHECK(sem_post(&filled) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(resident_kib() + 2048 < before);
}

static void *come_and_go(void *mine) {
  void **kept = mine;
  void *mixed[40];
  for (int i = 0; i < 40; i++) {
    mixed[i] = hide(malloc((size_t)(i * 37 % 900)));
    CHECK(mixed[i]);
  }
  for (int i = 0; i < 40; i++)
    if (i != 7) free(mixed[i]);
  // The next thread frees it.
  free(*kept);
  *kept = mixed[7];
  return NULL;
}

static void threads_come_and_go(void) {
  void *kept[8] = {NULL};
  size_t before = 0;
  for (int round = 0; round < 1250; round++) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) CHECK(pthread_create(&threads[i], NULL, come_and_go, &kept[i]) == 0);
    for (int i = 0; i < 8; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    if (round == 100) before = resident_kib();
  }
  for (int i = 0; i < 8; i++) free(kept[i]);
  // What threads leave behind is used again.
  CHECK(resident_kib() < before + 4096);
}

static void *freed_at_last;
static sem_t wanted, done;

// A thread that never allocates.
static void *only_frees(void *rounds) {
  for (uintptr_t i = 0; i < (uintptr_t)rounds; i++) {
    CHECK(sem_wait(&wanted) == 0);
    free(freed_at_last);
    CHECK(sem_post(&done) == 0);
  }
  return NULL;
}

static void *allocates_and_ends(void *bytes) {
  freed_at_last = hide(malloc((uintptr_t)bytes));
  CHECK(freed_at_last);
  memset(freed_at_last, 1, (uintptr_t)bytes);
  return NULL;
}

static void large_cells_outlive_their_threads(void) {
  const uintptr_t sizes[] = {1 << 20, 9 << 20}, rounds = 40;
  CHECK(sem_init(&wanted, 0, 0) == 0 && sem_init(&done, 0, 0) == 0);
  for (int i = 0; i < 2; i++) {
    pthread_t other;
    size_t before = resident_kib();
    CHECK(pthread_create(&other, NULL, only_frees, (void *)rounds) == 0);
    for (uintptr_t round = 0; round < rounds; round++) {
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, allocates_and_ends, (void *)sizes[i]) == 0 && pthread_join(thread, NULL) == 0);
      CHECK(sem_post(&wanted) == 0 && sem_wait(&done) == 0);
    }
    CHECK(pthread_join(other, NULL) == 0);
    malloc_trim(0);
    CHECK(resident_kib() < before + 4 * (sizes[i] >> 10));
  }
}

static pthread_key_t key;

static void *leaves_it_to_the_key(void *bytes) {
  CHECK(pthread_setspecific(key, memset(hide(malloc((uintptr_t)bytes)), 1, (uintptr_t)bytes)) == 0);
  return NULL;
}

static void freed_by_destructors(void) {
  // The destructor of the malloc is called before.
  free(hide(malloc(8)));
  CHECK(pthread_key_create(&key, free) == 0);
  const uintptr_t sizes[] = {3000, 1 << 20, 9 << 20};
  for (int i = 0; i < 3; i++) {
    size_t before = resident_kib();
    for (int round = 0; round < 40; round++) {
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, leaves_it_to_the_key, (void *)sizes[i]) == 0 && pthread_join(thread, NULL) == 0);
    }
    malloc_trim(0);
    CHECK(resident_kib() < before + 4096 + 4 * (sizes[i] >> 10));
  }
}

static void allocates_in_third_round(void *round) {
  if (round == (void *)3) {
    free(hide(malloc(3000)));
  } else {
    CHECK(pthread_setspecific(key, (char *)round + 1) == 0);
  }
}

static void *leaves_rounds_to_the_key(void *unused) {
  free(hide(malloc(8)));
  CHECK(pthread_setspecific(key, (void *)1) == 0);
  return unused;
}

// A heap that begins in the third round of destructors, when the thread's first has ended, ends too.
static void late_destructors(void) {
  size_t before = 0;
  CHECK(pthread_key_create(&key, allocates_in_third_round) == 0);
  for (int round = 0; round < 2000; round++) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, leaves_rounds_to_the_key, NULL) == 0 && pthread_join(thread, NULL) == 0);
    if (round == 100) before = resident_kib();
  }
  CHECK(resident_kib() < before + 4096);
}

static void *leaves_cells_to_the_c_library(void *unused) {
  free(hide(malloc(8)));
  // The loader keeps what it would say of an error.
  CHECK(dlsym(RTLD_DEFAULT, "none") == NULL && pthread_setspecific(key, &key) == 0);
  return unused;
}

// The C library frees the tables of keys from the 32nd on, and the errors of the loader, when destructors of keys have ended the thread's
// heap. No heap begins for that.
static void freed_by_the_c_library(void) {
  size_t before = 0;
  do CHECK(pthread_key_create(&key, NULL) == 0);
  while (key < 32);
  for (int round = 0; round < 5000; round++) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, leaves_cells_to_the_c_library, NULL) == 0 && pthread_join(thread, NULL) == 0);
    if (round == 100) before = resident_kib();
  }
  CHECK(resident_kib() < before + 4096);
}

// The OS takes no locked memory back.
static void locked_memory(void) {
  const size_t bytes = 1 << 20;
  unsigned char *cell = hide(malloc(bytes));
  CHECK(cell && mlock(cell, bytes) == 0);
  memset(cell, 0xff, bytes);
  errno = 7;
  free(hide(cell));
  CHECK(errno == 7);
  malloc_trim(0);
  unsigned char *zero = hide(calloc(1, bytes));
  CHECK(zero);
  for (size_t i = 0; i < bytes; i++) CHECK(zero[i] == 0);
  free(zero);
  CHECK(munlock(cell, bytes) == 0);
}

static volatile int stop;

static void *churn(void *argument) {
  void *all[64] = {NULL};
  for (unsigned i = (unsigned)(uintptr_t)argument; !stop; i = i * 1103515245 + 12345) {
    void **slot = &all[i >> 16 & 63];
    free(*slot);
    *slot = hide(malloc(i >> 8 & 4095));
    // Others have to run, too.
    if ((i >> 8 & 1023) == 0) sched_yield();
  }
  for (int i = 0; i < 64; i++) free(all[i]);
  return NULL;
}

static void fork_under_load(void) {
  pthread_t threads[3];
  for (uintptr_t i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
  for (int round = 0; round < 50; round++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(60);
      stop = 1;
      churn((void *)1);
      pthread_t thread;
      stop = 0;
      CHECK(pthread_create(&thread, NULL, churn, (void *)7) == 0);
      for (int i = 0; i < 1000; i++) free(hide(malloc((size_t)i * 50)));
      stop = 1;
      CHECK(pthread_join(thread, NULL) == 0);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  stop = 1;
  for (int i = 0; i < 3; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

enum { FREED_CELLS = 16, FREED = 1 << 20 };

static void *free_cells(void *cells) {
  CHECK(sem_post(&started) == 0);
  for (int i = 0; i < FREED_CELLS; i++) free(((void **)cells)[i]);
  return NULL;
}

static pthread_t first_thread;

static void *waits_for_first_thread(void *unused) {
  (void)unused;
  CHECK(pthread_join(first_thread, NULL) == 0);
  _exit(0);
}

// A thread ends its heap when nobody is freeing a cell of it. In the child of a fork nobody is: the thread that was has not come along. It
// returns a cell of this size to the OS meanwhile, for which it has to wait until the fork is done.
static void fork_while_another_frees(void) {
  void *cells[FREED_CELLS];
  CHECK(sem_init(&started, 0, 0) == 0);
  for (int round = 0; round < 50; round++) {
    pthread_t thread;
    for (int i = 0; i < FREED_CELLS; i++) CHECK(cells[i] = memset(hide(malloc(FREED)), 1, FREED));
    CHECK(pthread_create(&thread, NULL, free_cells, cells) == 0 && sem_wait(&started) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(20);
      first_thread = pthread_self();
      CHECK(pthread_create(&thread, NULL, waits_for_first_thread, NULL) == 0);
      pthread_exit(NULL);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
}

static volatile sig_atomic_t signals;

static void on_signal(int number) {
  (void)number;
  signals++;
}

// Signals whose handlers do not allocate, in the middle of what does.
static void interrupted(void) {
  struct sigaction action = {.sa_handler = on_signal};
  struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
  unsigned seed = 1;
  unsigned char *all[256] = {NULL};
  size_t bytes[256];
  while (signals < 200) {
    seed = seed * 1103515245 + 12345;
    unsigned i = seed >> 8 & 255;
    CHECK(!all[i] || holds(all[i], bytes[i], i));
    free(all[i]);
    bytes[i] = seed >> 16 & (i % 16 ? 1023 : 0xffff);
    all[i] = hide(malloc(bytes[i]));
    CHECK(all[i]);
    fill(all[i], bytes[i], i);
  }
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  for (int i = 0; i < 256; i++) free(all[i]);
}

// A ring between two threads: what one allocates, the other frees.
static void *volatile ring[512];

static void *consume(void *count) {
  for (size_t i = 0; i < (size_t)count; i++) {
    void *p;
    while (!(p = __atomic_exchange_n(&ring[i % 512], NULL, __ATOMIC_ACQUIRE))) sched_yield();
    size_t bytes = *(size_t *)p;
    CHECK(holds((unsigned char *)p + sizeof bytes, bytes - sizeof bytes, (unsigned)bytes));
    free(p);
  }
  return NULL;
}

static void producer_and_consumer(void) {
  const size_t count = 100000;
  pthread_t consumer;
  CHECK(pthread_create(&consumer, NULL, consume, (void *)count) == 0);
  unsigned seed = 1;
  size_t early = 0;
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1103515245 + 12345;
    size_t bytes = 8 + (seed >> 16) % (i % 1000 ? 500 : 150000);
    size_t *p = hide(malloc(bytes));
    *p = bytes;
    fill((unsigned char *)(p + 1), bytes - sizeof bytes, (unsigned)bytes);
    while (__atomic_load_n(&ring[i % 512], __ATOMIC_RELAXED)) sched_yield();
    __atomic_store_n(&ring[i % 512], p, __ATOMIC_RELEASE);
    if (i == count / 4) early = resident_kib();
  }
  CHECK(pthread_join(consumer, NULL) == 0);
  // No blow-up: what is in flight is bounded.
  CHECK(resident_kib() < 2 * early + 8192);
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {{"size-zero", size_zero},
             {"too-much", too_much},
             {"more-than-there-is", more_than_the_machine_has},
             {"names-of-glibc", names_of_glibc},
             {"alignment", alignment},
             {"usable", usable},
             {"zeroed", zeroed},
             {"realloc", realloc_every_way},
             {"grow", grows_in_steps},
             {"grow-large", large_grows_in_steps},
             {"trim", shrinks_a_little},
             {"no-memory", no_memory},
             {"other-sizes", no_memory_but_of_other_sizes},
             {"freed-by-others", no_memory_but_what_others_freed},
             {"longer", longer_than_what_was_freed},
             {"no-memory-to-write", no_memory_to_write},
             {"freed-beside-idle-owner", no_memory_but_what_an_idle_thread_owns},
             {"freed-without-heap", freed_without_a_heap},
             {"left-by-a-thread", no_memory_but_what_a_thread_left},
             {"no-mapping", no_mapping_to_spare},
             {"shrink", no_memory_to_shrink},
             {"trim-without-heap", no_memory_to_trim},
             {"threads", threads_come_and_go},
             {"large-outlive-threads", large_cells_outlive_their_threads},
             {"destructors", freed_by_destructors},
             {"late-destructors", late_destructors},
             {"freed-by-c-library", freed_by_the_c_library},
             {"locked", locked_memory},
             {"fork", fork_under_load},
             {"fork-in-free", fork_while_another_frees},
             {"interrupted", interrupted},
             {"producer-consumer", producer_and_consumer}};

int main(int count, char **arguments) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (count == 1) {
      puts(cases[i].name);
    } else if (strcmp(arguments[1], cases[i].name) == 0) {
      cases[i].run();
      return 0;
    }
  }
  return count == 1 ? 0 : 2;
}
