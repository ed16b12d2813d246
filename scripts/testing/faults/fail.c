// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A library to preload: makes one call of mmap, madvise, pthread_create or malloc fail, as the system does when it has no memory. Only
// calls from libjvm.so and the plugin count, those of malloc from the plugin alone. Environment:
//   FAULT_FUNCTION   mmap, madvise, pthread_create or malloc; malloc stands for calloc, realloc and posix_memalign, too
//   FAULT_AT         which of its calls fails, from 1
//   FAULT_CALLER     only calls from libraries whose path has this in it count
//   FAULT_MARK       a file that is made when the call has failed
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static const char *function, *library, *mark;
static long at;
static atomic_long calls;

__attribute__((constructor)) static void read_environment(void) {
  const char *number = getenv("FAULT_AT");
  at = number == NULL ? 0 : atol(number);
  library = getenv("FAULT_CALLER");
  mark = getenv("FAULT_MARK");
  function = getenv("FAULT_FUNCTION");
}

static int counts(const char *called, const void *caller) {
  Dl_info found;
  if (dladdr(caller, &found) == 0 || found.dli_fname == NULL) return 0;
  if (library != NULL && *library != 0) return strstr(found.dli_fname, library) != NULL;
  if (strstr(found.dli_fname, "libmmtk") != NULL) return 1;
  return strcmp(called, "malloc") != 0 && strstr(found.dli_fname, "libjvm") != NULL;
}

// Whether this call of `called` is the one that fails.
static int fails(const char *called, const void *caller) {
  if (function == NULL || strcmp(function, called) != 0 || !counts(called, caller)) return 0;
  if (atomic_fetch_add(&calls, 1) + 1 != at) return 0;
  if (mark != NULL) close(open(mark, O_CREAT | O_WRONLY, 0600));
  return 1;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (fails("mmap", __builtin_return_address(0))) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int file, off_t offset) __attribute__((alias("mmap")));

int madvise(void *address, size_t bytes, int advice) {
  if (fails("madvise", __builtin_return_address(0))) {
    errno = ENOMEM;
    return -1;
  }
  return (int)syscall(SYS_madvise, address, bytes, advice);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  if (fails("pthread_create", __builtin_return_address(0))) return EAGAIN;
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
  return real(thread, attributes, start, argument);
}

void *malloc(size_t bytes) { return fails("malloc", __builtin_return_address(0)) ? NULL : __libc_malloc(bytes); }

void *calloc(size_t count, size_t bytes) {
  return fails("malloc", __builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
  return fails("malloc", __builtin_return_address(0)) ? NULL : __libc_realloc(memory, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  *memory = fails("malloc", __builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
  return *memory == NULL ? ENOMEM : 0;
}
