/* Broadcast patterns: dumbtorch's add against the loop that one would write by hand.
 *
 * PATTERN(name, n0, n1, n2, where element (i, j, k) of the left operand lies, of the right one, and
 * how many elements each has). Sizes are constants, so the compiler knows all there is to know. */
#include <stdio.h>
#include <stdlib.h>

#include "dumbtorch.h"
#include "native.h"

/* clang-format off */
#define PATTERNS(PATTERN) \
  PATTERN(same,        1, 1024, 1024,   j * 1024 + k,         j * 1024 + k) \
  PATTERN(row_10,      1, 4096, 10,     j * 10 + k,           k) \
  PATTERN(row_1024,    1, 1024, 1024,   j * 1024 + k,         k) \
  PATTERN(column_1024, 1, 1024, 1024,   j * 1024 + k,         j) \
  PATTERN(column_4,    1, 65536, 4,     j * 4 + k,            j) \
  PATTERN(outer,       1, 1024, 1024,   j,                    k) \
  PATTERN(scalar,      1, 1024, 1024,   j * 1024 + k,         0) \
  PATTERN(channel,     64, 16, 784,     (i * 16 + j) * 784 + k, j) \
  PATTERN(middle,      64, 64, 256,     (i * 64 + j) * 256 + k, i * 256 + k) \
  PATTERN(transposed,  1, 1024, 1024,   k * 1024 + j,         j * 1024 + k)
/* clang-format on */

/* The strides follow from the index formulas: a step along one axis. */
#define DIRECT(name, n0, n1, n2, left, right)                                                      \
  static int64_t name##_left(int64_t i, int64_t j, int64_t k) {                                    \
    (void)i, (void)j, (void)k;                                                                     \
    return left;                                                                                   \
  }                                                                                                \
  static int64_t name##_right(int64_t i, int64_t j, int64_t k) {                                   \
    (void)i, (void)j, (void)k;                                                                     \
    return right;                                                                                  \
  }                                                                                                \
  static void name##_loop(const float* restrict a, const float* restrict b, float* restrict out) { \
    for (int64_t i = 0; i < n0; ++i) {                                                             \
      for (int64_t j = 0; j < n1; ++j) {                                                           \
        for (int64_t k = 0; k < n2; ++k) {                                                         \
          out[(i * n1 + j) * n2 + k] = a[name##_left(i, j, k)] + b[name##_right(i, j, k)];         \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }
PATTERNS(DIRECT)

typedef int64_t Index(int64_t i, int64_t j, int64_t k);

/* An operand over its own memory. A stride of 0 is a dimension that is repeated: size 1. */
static dt_tensor* make_operand(const int64_t* sizes, Index* index) {
  const int64_t step[3] = {index(1, 0, 0), index(0, 1, 0), index(0, 0, 1)};
  int64_t own[3], count = 1;
  for (int d = 0; d < 3; ++d) {
    own[d] = step[d] ? sizes[d] : 1;
    count *= own[d];
  }
  dt_tensor *flat, *shaped;
  must(dt_randn(&count, 1, NULL, 0, 0, 0, 0, &flat));
  must(dt_as_strided(flat, own, 3, step, 3, NULL, &shaped));
  dt_tensor_release(flat);
  return shaped;
}

static float* data_of(dt_tensor* x) {
  void* data;
  must(dt_tensor_data_ptr(x, &data));
  return data;
}

static void add(dt_tensor* a, dt_tensor* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    dt_tensor* c;
    must(dt_add(a, b, 0, 0, 0, DT_SCALAR_KIND_INT, 1, 0, &c));
    dt_tensor_release(c);
  }
}

#define RUN(name, n0, n1, n2, left, right)                                      \
  static dt_tensor *name##_a, *name##_b;                                        \
  static float* name##_out;                                                     \
  static void name##_set_up(void) {                                             \
    const int64_t sizes[3] = {n0, n1, n2};                                      \
    if (name##_a) return;                                                       \
    name##_a = make_operand(sizes, name##_left);                                \
    name##_b = make_operand(sizes, name##_right);                               \
    name##_out = aligned_alloc(64, sizeof(float) * n0 * n1 * n2);               \
    if (!name##_out) abort();                                                   \
  }                                                                             \
  static void name##_ours(int64_t n) {                                          \
    name##_set_up();                                                            \
    add(name##_a, name##_b, n);                                                 \
  }                                                                             \
  static void name##_direct(int64_t n) {                                        \
    name##_set_up();                                                            \
    for (int64_t i = 0; i < n; ++i) {                                           \
      name##_loop(data_of(name##_a), data_of(name##_b), name##_out);            \
      __asm__ volatile("" ::: "memory"); /* the loop's result counts as used */ \
    }                                                                           \
  }
PATTERNS(RUN)

#define ENTRY(name, n0, n1, n2, left, right) \
  {"broadcast_" #name, name##_ours}, {"direct_" #name, name##_direct},
const Case broadcast_cases[] = {PATTERNS(ENTRY){0}};
