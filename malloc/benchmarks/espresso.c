// SPDX-License-Identifier: MIT OR Apache-2.0
// Covers of cubes, as in the minimizer of logic of this name: the complement of a cover by recursion over its variables. Lists of
// cells that grow, and are taken apart and joined. One thread.
#include "bench.h"

enum { VARIABLES = 24, CUBES = 40 };
// Two bits for each variable: may it be 0, may it be 1.
struct cube {
  uint32_t words[(2 * VARIABLES + 31) / 32];
  uint32_t literals;
};
struct cover {
  struct cube **cubes;
  size_t count, room;
};

static unsigned get(const struct cube *cube, int variable) { return cube->words[variable / 16] >> variable % 16 * 2 & 3; }

static void set(struct cube *cube, int variable, unsigned values) {
  cube->words[variable / 16] &= ~((uint32_t)3 << variable % 16 * 2);
  cube->words[variable / 16] |= values << variable % 16 * 2;
}

static void append(struct cover *cover, struct cube *cube) {
  if (cover->count == cover->room) {
    cover->room = cover->room ? 2 * cover->room : 2;
    cover->cubes = realloc(cover->cubes, cover->room * sizeof *cover->cubes);
    if (!cover->cubes) fail("no memory");
  }
  cover->cubes[cover->count++] = cube;
}

static struct cube *copy(const struct cube *from) {
  struct cube *cube = allocate(sizeof *cube);
  return memcpy(cube, from, sizeof *cube);
}

static struct cube *whole(void) {
  struct cube *cube = allocate(sizeof *cube);
  memset(cube, 0, sizeof *cube);
  for (int i = 0; i < VARIABLES; i++) set(cube, i, 3);
  return cube;
}

static void discard(struct cover *cover) {
  for (size_t i = 0; i < cover->count; i++) free(cover->cubes[i]);
  free(cover->cubes);
}

// What the cover is where the variable has the value.
static struct cover cofactor(const struct cover *cover, int variable, unsigned value) {
  struct cover result = {NULL, 0, 0};
  for (size_t i = 0; i < cover->count; i++) {
    unsigned values = get(cover->cubes[i], variable);
    if (!(values & value)) continue;
    struct cube *cube = copy(cover->cubes[i]);
    if (values != 3) cube->literals--;
    set(cube, variable, 3);
    append(&result, cube);
  }
  return result;
}

// The variable that most cubes depend on.
static int choose(const struct cover *cover) {
  size_t best = 0;
  int chosen = -1;
  for (int v = 0; v < VARIABLES; v++) {
    size_t count = 0;
    for (size_t i = 0; i < cover->count; i++) count += get(cover->cubes[i], v) != 3;
    if (count > best) best = count, chosen = v;
  }
  return chosen;
}

static struct cover complement(const struct cover *cover) {
  struct cover result = {NULL, 0, 0};
  if (cover->count == 0) append(&result, whole());
  for (size_t i = 0; i < cover->count; i++)
    if (cover->cubes[i]->literals == 0) return result;
  int variable = choose(cover);
  if (variable < 0) return result;
  for (unsigned value = 1; value <= 2; value++) {
    struct cover part = cofactor(cover, variable, value), of_part = complement(&part);
    for (size_t i = 0; i < of_part.count; i++) {
      set(of_part.cubes[i], variable, value);
      of_part.cubes[i]->literals++;
      append(&result, of_part.cubes[i]);
    }
    free(of_part.cubes);
    discard(&part);
  }
  return result;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  uint64_t seed = random_seed(0);
  size_t cubes = 0;
  for (size_t i = 0; i < operations; i++) {
    struct cover cover = {NULL, 0, 0};
    for (int j = 0; j < CUBES; j++) {
      struct cube *cube = whole();
      for (int k = 0; k < 5; k++) set(cube, (int)random_below(&seed, VARIABLES), 1 + (unsigned)random_below(&seed, 2));
      for (int v = 0; v < VARIABLES; v++) cube->literals += get(cube, v) != 3;
      append(&cover, cube);
    }
    struct cover result = complement(&cover);
    cubes += result.count;
    discard(&result);
    discard(&cover);
  }
  printf("espresso: %zu cubes\n", cubes);
}
