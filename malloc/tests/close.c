// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread that ends when the library that it allocated from has been closed.
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static pthread_barrier_t allocated, closed;

static void *allocate(void *allocate_bytes) {
  assert(((void *(*)(size_t))allocate_bytes)(100));
  pthread_barrier_wait(&allocated);
  pthread_barrier_wait(&closed);
  return NULL;
}

int main(int count, char **arguments) {
  pthread_t thread;
  assert(count == 2);
  assert(pthread_barrier_init(&allocated, NULL, 2) == 0 && pthread_barrier_init(&closed, NULL, 2) == 0);
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  assert(library);
  assert(pthread_create(&thread, NULL, allocate, dlsym(library, "shardsweep_malloc")) == 0);
  pthread_barrier_wait(&allocated);
  assert(dlclose(library) == 0);
  pthread_barrier_wait(&closed);
  assert(pthread_join(thread, NULL) == 0);
  return 0;
}
