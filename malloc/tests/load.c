// SPDX-License-Identifier: MIT OR Apache-2.0
// A C program that loads a C++ library, which no other part of it sees; exits with 0 if what the library checks holds.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

int main(int count, char **arguments) {
  void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  bool (*holds)(void) = library ? (bool (*)(void))dlsym(library, "holds") : NULL;
  if (!holds) {
    fprintf(stderr, "load.c: %s\n", count == 2 ? dlerror() : "name a library");
    return 2;
  }
  return !holds();
}
