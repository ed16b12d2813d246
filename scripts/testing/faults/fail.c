// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A library to preload: makes one call of mmap, madvise or pthread_create fail, as the system does when it has no memory. Only calls from
// libjvm.so and the plugin count: those of the C library, of the launcher and of the loader are not the subject. Environment:
//   FAULT_FUNCTION   mmap, madvise or pthread_create
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

static atomic_long calls;

static int counts(const void *caller) {
  Dl_info library;
  const char *wanted = getenv("FAULT_CALLER");
  if (dladdr(caller, &library) == 0 || library.dli_fname == NULL) return 0;
  if (wanted != NULL && *wanted != 0) return strstr(library.dli_fname, wanted) != NULL;
  return strstr(library.dli_fname, "libjvm") != NULL || strstr(library.dli_fname, "libmmtk") != NULL;
}

// Whether this call of `function` is the one that fails.
static int fails(const char *function, const void *caller) {
  const char *wanted = getenv("FAULT_FUNCTION"), *at = getenv("FAULT_AT"), *mark = getenv("FAULT_MARK");
  if (wanted == NULL || at == NULL || strcmp(wanted, function) != 0 || !counts(caller)) return 0;
  if (atomic_fetch_add(&calls, 1) + 1 != atol(at)) return 0;
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
