// SPDX-License-Identifier: MIT OR Apache-2.0
// What C++'s operators new do where there is no memory: in a program, and in a library that a C program loads for itself.
#include <cstdio>
#include <new>

static volatile unsigned long huge = 1ul << 62;
static int handled;

struct alignas(64) Wide {
  char bytes[64];
};

template <typename T> static bool throws() {
  try {
    return !new T[huge / sizeof(T)];
  } catch (const std::bad_alloc &) {
    return true;
  }
}

template <typename T> static bool is_null() { return !new (std::nothrow) T[huge / sizeof(T)]; }

static void gives_up() {
  handled++;
  throw std::bad_alloc();
}

static void ends() {
  handled++;
  std::set_new_handler(nullptr);
}

// True if all holds.
extern "C" bool holds() {
  const std::new_handler handlers[] = {nullptr, gives_up, ends};
  for (auto handler : handlers) {
    std::set_new_handler(handler);
    if (!throws<char>() || !throws<Wide>()) return false;
    std::set_new_handler(handler);
    if (!is_null<char>() || !is_null<Wide>()) return false;
  }
  // `gives_up` was called by each of the four, `ends` by the first of each two.
  return handled == 6;
}

#ifdef PROGRAM
int main() { return !holds(); }
#endif
