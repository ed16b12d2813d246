// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers of any length, each in a cell of its own for the time of a few operations: the continued fraction of the square root of a
// number of 30 digits, as in factorization by continued fractions, whose small residues are tried with small primes. One thread.
#include "bench.h"

struct number {
  uint32_t length;
  uint32_t digits[];
};

static struct number *make(uint32_t length) {
  struct number *n = allocate(sizeof *n + length * sizeof *n->digits + 1);
  n->length = length;
  return n;
}

static struct number *trim(struct number *n) {
  while (n->length && !n->digits[n->length - 1]) n->length--;
  return n;
}

static struct number *small(uint32_t value) {
  struct number *n = make(1);
  n->digits[0] = value;
  return trim(n);
}

static struct number *copy(const struct number *a) {
  struct number *n = make(a->length);
  memcpy(n->digits, a->digits, a->length * sizeof *a->digits);
  return n;
}

static uint32_t digit(const struct number *n, uint32_t i) { return i < n->length ? n->digits[i] : 0; }

static struct number *add(const struct number *a, const struct number *b) {
  uint32_t length = (a->length > b->length ? a->length : b->length) + 1;
  struct number *n = make(length);
  uint64_t carry = 0;
  for (uint32_t i = 0; i < length; i++, carry >>= 32) n->digits[i] = (uint32_t)(carry += (uint64_t)digit(a, i) + digit(b, i));
  return trim(n);
}

// a is not below b.
static struct number *subtract(const struct number *a, const struct number *b) {
  struct number *n = make(a->length);
  int64_t borrow = 0;
  for (uint32_t i = 0; i < a->length; i++, borrow >>= 32) n->digits[i] = (uint32_t)(borrow += (int64_t)digit(a, i) - digit(b, i));
  return trim(n);
}

static struct number *multiply(const struct number *a, const struct number *b) {
  struct number *n = make(a->length + b->length);
  memset(n->digits, 0, n->length * sizeof *n->digits);
  for (uint32_t i = 0; i < a->length; i++) {
    uint64_t carry = 0;
    for (uint32_t j = 0; j < b->length; j++, carry >>= 32)
      n->digits[i + j] = (uint32_t)(carry += (uint64_t)a->digits[i] * b->digits[j] + n->digits[i + j]);
    n->digits[i + b->length] = (uint32_t)carry;
  }
  return trim(n);
}

static int compare(const struct number *a, const struct number *b) {
  if (a->length != b->length) return a->length < b->length ? -1 : 1;
  for (uint32_t i = a->length; i-- > 0;)
    if (a->digits[i] != b->digits[i]) return a->digits[i] < b->digits[i] ? -1 : 1;
  return 0;
}

static uint32_t remainder_small(const struct number *a, uint32_t by) {
  uint64_t rest = 0;
  for (uint32_t i = a->length; i-- > 0;) rest = (rest << 32 | a->digits[i]) % by;
  return (uint32_t)rest;
}

static struct number *quotient_small(const struct number *a, uint32_t by) {
  struct number *n = make(a->length);
  uint64_t rest = 0;
  for (uint32_t i = a->length; i-- > 0; rest %= by) n->digits[i] = (uint32_t)((rest = rest << 32 | a->digits[i]) / by);
  return trim(n);
}

// A bit at a time.
static struct number *quotient(const struct number *a, const struct number *b) {
  struct number *n = make(a->length), *rest = small(0);
  memset(n->digits, 0, n->length * sizeof *n->digits);
  for (uint32_t bit = a->length * 32; bit-- > 0;) {
    struct number *twice = make(rest->length + 1);
    uint32_t carry = a->digits[bit / 32] >> bit % 32 & 1;
    for (uint32_t i = 0; i < twice->length; i++) {
      twice->digits[i] = digit(rest, i) << 1 | carry;
      carry = digit(rest, i) >> 31;
    }
    free(rest);
    rest = trim(twice);
    if (compare(rest, b) >= 0) {
      struct number *less = subtract(rest, b);
      free(rest);
      rest = less;
      n->digits[bit / 32] |= (uint32_t)1 << bit % 32;
    }
  }
  free(rest);
  return trim(n);
}

// By Newton's iteration, from above.
static struct number *root(const struct number *a) {
  struct number *x = copy(a);
  for (;;) {
    struct number *q = quotient(a, x), *sum = add(x, q), *next = quotient_small(sum, 2);
    free(q), free(sum);
    if (compare(next, x) >= 0) {
      free(next);
      return x;
    }
    free(x);
    x = next;
  }
}

// Whether primes below 200 alone divide it.
static int is_smooth(const struct number *a) {
  struct number *rest = copy(a);
  for (uint32_t by = 2; by < 200 && rest->length; by++)
    while (remainder_small(rest, by) == 0) {
      struct number *less = quotient_small(rest, by);
      free(rest);
      rest = less;
    }
  int smooth = rest->length == 1 && rest->digits[0] == 1;
  free(rest);
  return smooth;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  struct number *n = small(1);
  for (const char *c = "175451865205073170563711388363"; *c; c++) {
    struct number *ten = small(10), *value = small((uint32_t)(*c - '0')), *more = multiply(n, ten);
    free(n);
    n = add(more, value);
    free(ten), free(value), free(more);
  }
  struct number *first = root(n), *m = small(0), *d = small(1), *a = copy(first);
  size_t smooth = 0;
  for (size_t i = 0; i < operations; i++) {
    struct number *product = multiply(d, a), *next_m = subtract(product, m), *square = multiply(next_m, next_m);
    struct number *difference = subtract(n, square), *next_d = quotient(difference, d), *sum = add(first, next_m);
    free(product), free(square), free(difference), free(m), free(d), free(a);
    m = next_m, d = next_d, a = quotient(sum, d);
    free(sum);
    smooth += (size_t)is_smooth(d);
  }
  printf("cfrac: %zu smooth residues, the last of %u digits\n", smooth, d->length);
  free(n), free(first), free(m), free(d), free(a);
}
