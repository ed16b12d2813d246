/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The Shardsweep allocator by names of its own, for programs that want what malloc has not. Preloaded, or linked with
 * -lshardsweep_malloc, the library defines malloc and the rest, too, for all of the program. What Cargo builds without the feature
 * `override` has the names below alone. */
#ifndef SHARDSWEEP_H
#define SHARDSWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As the functions of the C library, with its errno. Up to 8 bytes are aligned to 8, more to 16. shardsweep_aligned_alloc fails with
 * EINVAL where the alignment is no power of two. */
void *shardsweep_malloc(size_t size);
void *shardsweep_calloc(size_t count, size_t size);
void *shardsweep_realloc(void *pointer, size_t size);
void *shardsweep_reallocarray(void *pointer, size_t count, size_t size);
void *shardsweep_aligned_alloc(size_t align, size_t size);
int shardsweep_posix_memalign(void **result, size_t align, size_t size);
size_t shardsweep_malloc_usable_size(const void *pointer);
void shardsweep_free(void *pointer);

/* A heap serves the thread that made it. Any thread may free its cells, by shardsweep_free. When the thread ends,
 * so does the heap; cells in use stay. A destructor of pthread_key_create may still end a heap of its thread in the first round of
 * destructors, in which those of all keys that are set are called once. What shardsweep_realloc moves becomes a cell of the default heap. */
typedef struct shardsweep_heap shardsweep_heap;
/* NULL if there is no memory. */
shardsweep_heap *shardsweep_heap_new(void);
/* That of shardsweep_malloc in the calling thread, which must not end it. NULL if there is no memory. */
shardsweep_heap *shardsweep_heap_default(void);
/* Ends the heap; its cells stay in use, as the thread's own. */
void shardsweep_heap_delete(shardsweep_heap *heap);
/* Ends the heap and frees all of its cells. */
void shardsweep_heap_destroy(shardsweep_heap *heap);
void *shardsweep_heap_malloc(shardsweep_heap *heap, size_t size);
void *shardsweep_heap_calloc(shardsweep_heap *heap, size_t count, size_t size);
void *shardsweep_heap_aligned_alloc(shardsweep_heap *heap, size_t align, size_t size);
/* Whether a cell in use is of the heap. */
bool shardsweep_heap_contains(const shardsweep_heap *heap, const void *pointer);
/* Calls the visitor for each cell in use until it returns false. It must not allocate from the heap, nor free in it, nor end it, and must
 * not throw. It may use other heaps; the visited one is not collected meanwhile, and the hook below is not called. Cells that other threads
 * free meanwhile may be among those that are visited: the visitor must neither read nor write them, as their memory may be gone. */
typedef bool (*shardsweep_visitor)(void *cell, size_t bytes, void *argument);
void shardsweep_heap_visit(shardsweep_heap *heap, shardsweep_visitor visitor, void *argument);

/* Takes back what was freed in the blocks of all heaps of the calling thread, and gives up those that are empty; with force,
 * their memory goes back to the OS at once. */
void shardsweep_collect(bool force);
/* As shardsweep_collect, of one heap, which the hook below must not end. */
void shardsweep_heap_collect(shardsweep_heap *heap, bool force);

/* The hook is called after a bounded number of allocations of each thread, and where the system has no memory, in the thread that
 * allocates; the heartbeat counts these calls. With force it is to free all it can. It may allocate and free, but not end the heap that is
 * allocated from, and must not throw. It is not called in itself. NULL for no hook. When another is set, a call of the one before may
 * not have ended. */
typedef void (*shardsweep_deferred_free)(bool force, uint64_t heartbeat, void *argument);
void shardsweep_set_deferred_free(shardsweep_deferred_free hook, void *argument);

/* Options, which the environment sets before main. */
enum {
  /* SHARDSWEEP_RESET_DELAY: milliseconds until free pages of chunks go back to the OS; 0 for at once, negative for never.
   * 100 by default. What is due goes when a block is given back, or after some more allocations. Unless it is 0, each heap keeps up to
   * 1 MiB of empty blocks, in secure mode 4 MiB, until its thread allocates again. */
  SHARDSWEEP_RESET_DELAY = 0,
  /* SHARDSWEEP_SHOW_STATS: 1 for statistics on standard error when the program ends; has an effect in the environment alone. */
  SHARDSWEEP_SHOW_STATS = 1
};
/* False if there is no such option. */
bool shardsweep_set_option(int option, int64_t value);
int64_t shardsweep_get_option(int option);

/* Prints statistics to standard error. */
void shardsweep_print_stats(void);

#ifdef __cplusplus
}
#endif
#endif
