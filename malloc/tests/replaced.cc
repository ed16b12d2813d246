// SPDX-License-Identifier: MIT OR Apache-2.0
// A program that replaces one operator new and its delete: all others of the kind lead there, and the rest do not.
// Built with KIND=1 for those of the size alone, with KIND=2 for those with an alignment.
#include <cstddef>
#include <cstdlib>
#include <new>

static char pool[1 << 20];
static std::size_t taken, news, deletes;

static void *take(std::size_t align, std::size_t size) {
  taken = (taken + align - 1) / align * align;
  char *cell = pool + taken;
  taken += size;
  news++;
  return cell;
}

static void give(void *cell) {
  if (cell < pool || cell >= pool + sizeof pool) std::abort();
  deletes++;
}

#if KIND == 1
void *operator new(std::size_t size) { return take(16, size); }
void operator delete(void *cell) noexcept { give(cell); }
#else
void *operator new(std::size_t size, std::align_val_t align) { return take(std::size_t(align), size); }
void operator delete(void *cell, std::align_val_t) noexcept { give(cell); }
#endif

template <std::size_t ALIGN> struct alignas(ALIGN) Thing {
  char bytes[100];
  // An array has its length before it, of which its end is told.
  ~Thing() { bytes[0] = 0; }
};

// What the compiler cannot see through: it knows new too well.
template <typename T> static T *hide(T *pointer) {
  __asm__ volatile("" : "+r"(pointer));
  return pointer;
}

// Each way to allocate and to free. Nothing after the first two is a call that the compiler makes by itself.
template <typename T, typename... Align> static void every_way(Align... align) {
  delete hide(new T);
  delete[] hide(new T[3]);
  delete hide(new (std::nothrow) T);
  delete[] hide(new (std::nothrow) T[3]);
  operator delete(hide(operator new(100, align...)), align...);
  operator delete(hide(operator new(100, align...)), 100, align...);
  operator delete(hide(operator new(100, align..., std::nothrow)), align..., std::nothrow);
  operator delete[](hide(operator new[](100, align...)), align...);
  operator delete[](hide(operator new[](100, align...)), 100, align...);
  operator delete[](hide(operator new[](100, align..., std::nothrow)), align..., std::nothrow);
}

int main() {
  every_way<Thing<8>>();
  bool expected = news == (KIND == 1 ? 10 : 0) && deletes == news;
  every_way<Thing<64>>(std::align_val_t(64));
  return !(expected && news == 10 && deletes == 10);
}
