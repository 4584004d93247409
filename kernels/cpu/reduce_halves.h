// Sums of floats of 16 bits, which become floats on their way through registers, and of their
// squares, which become doubles.
#pragma once

#include "kernels/cpu/halves.h"

namespace dt::cpu {
namespace {

#if defined(__F16C__)
constexpr bool kAddsHalves = true;

// Whether rows of so many are not worth a copy to values of T. Without masks the rest of a vector
// goes through memory, and is waited for.
template <class T>
bool sums_in_place(int64_t n) {
#if defined(__AVX512F__)
  return n > 0;
#else
  return n % (kVectorBytes / static_cast<int64_t>(sizeof(T))) == 0 || n >= 256;
#endif
}

// As reduce_spans.
template <class Half>
__attribute__((noinline)) void add_half_spans(float* into, const Half* x, int64_t row_stride,
                                              int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; r += kHalves) {
    reduce_group<Sum<float>>(into + r, min(kHalves, rows - r), [=](int64_t k) {
      const Half* row = x + (r + k) * row_stride;
      __builtin_prefetch(row + 2 * kHalves * row_stride);
      return reduce_to_vector<Sum<float>>(
          n, [=](int64_t i, int64_t count) { return widen_first(row + i, count); });
    });
  }
}

// The same of their squares.
template <class Half>
__attribute__((noinline)) void add_half_squares(double* into, const Half* x, int64_t row_stride,
                                                int64_t rows, int64_t n) {
  constexpr int64_t kWidth = kHalves / 2;
  for (int64_t r = 0; r < rows; r += kWidth) {
    reduce_group<Sum<double>>(into + r, min(kWidth, rows - r), [=](int64_t k) {
      const Half* row = x + (r + k) * row_stride;
      __builtin_prefetch(row + 2 * kWidth * row_stride);
      return reduce_to_vector<Sum<double>>(n, [=](int64_t i, int64_t count) {
        const Vector<double> some = widen_first_to_doubles(row + i, count);
        return some * some;
      });
    });
  }
}

// As reduce_rows.
template <class Half>
__attribute__((noinline)) void add_half_rows(float* into, const Half* x, int64_t row_stride,
                                             int64_t rows, int64_t n, bool is_far) {
  reduce_rows<Sum<float>>(into, row_stride * int64_t{sizeof(Half)}, rows, n, is_far,
                          [=](int64_t r, int64_t j, int64_t count) {
                            return widen_first(x + r * row_stride + j, count);
                          });
}
#else
constexpr bool kAddsHalves = false;

template <class T>
bool sums_in_place(int64_t) {
  return false;
}
#endif

}  // namespace
}  // namespace dt::cpu
