// exp(x - shift) over spans, for softmax and its relatives, where the shift is the largest x: no
// result exceeds 1, so overflow needs no care, and results too small for a normal float may become
// 0. Within 2 units in the last place, but not the same bits on every instruction set: it uses
// fused multiply-add where there is one.
#pragma once

#include "kernels/cpu/simd.h"
#include "kernels/math.h"

namespace dt::cpu {
namespace {

typedef int32_t Bits __attribute__((vector_size(kVectorBytes)));

// exp(x) for x up to about 80: 2^n * exp(r) with x = n * log(2) + r and |r| <= log(2) / 2.
inline VectorF32 exp_not_large(VectorF32 x) {
  constexpr float kSmallest = -87.33654f;  // log of the smallest normal float
  // Adding 1.5 * 2^23 rounds to an integer, and leaves that integer in the low bits.
  const VectorF32 magic = splat(12582912.0f);
  const VectorF32 shifted = multiply_add(x, splat(1.44269504f), magic);
  const VectorF32 n = shifted - magic;
  VectorF32 r = multiply_add(n, splat(-0.693145752f), x);  // log(2) in two parts
  r = multiply_add(n, splat(-1.42860677e-6f), r);
  // (exp(r) - 1 - r) / r^2, fitted to a relative error of exp(r) of 5e-9.
  VectorF32 p = splat(0.0013748902f);
  p = multiply_add(p, r, splat(0.0083714454f));
  p = multiply_add(p, r, splat(0.04166986f));
  p = multiply_add(p, r, splat(0.16666493f));
  p = multiply_add(p, r, splat(0.49999985f));
  p = multiply_add(p * r, r, r) + 1.0f;
  // Multiplies by 2^n by adding n to the exponent.
  const VectorF32 result = (VectorF32)((Bits)p + ((Bits)shifted << 23));
  const VectorF32 number = x < kSmallest ? VectorF32{} : result;
  return x == x ? number : x;
}

// y[i] = exp(x[i] - shift); the lanes of the result add up to their sum. The last vector overlaps
// the one before, which is faster than to write a part of one; y may be x.
inline VectorF32 exp_to_vector(float* y, const float* x, float shift, int64_t n) {
  constexpr int64_t kWidth = kLanes<float>;
  Bits lane;
  for (int j = 0; j < kWidth; ++j) lane[j] = j;
  if (n < kWidth) {
    const VectorF32 a = exp_not_large(load_first(x, n) - shift);
    store_few(y, a, n);
    return lane < static_cast<int32_t>(n) ? a : VectorF32{};
  }
  const int64_t rest = n % kWidth;
  const VectorF32 last = load(x + n - kWidth);
  VectorF32 sum[2] = {};
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    const VectorF32 a = exp_not_large(load(x + i) - shift),
                    b = exp_not_large(load(x + i + kWidth) - shift);
    store(y + i, a);
    store(y + i + kWidth, b);
    sum[0] += a;
    sum[1] += b;
  }
  if (i + kWidth <= n) {
    const VectorF32 a = exp_not_large(load(x + i) - shift);
    store(y + i, a);
    sum[0] += a;
  }
  if (rest > 0) {
    const VectorF32 a = exp_not_large(last - shift);
    store(y + n - kWidth, a);
    sum[1] += lane >= static_cast<int32_t>(kWidth - rest) ? a : VectorF32{};
  }
  return sum[0] + sum[1];
}

inline VectorF64 exp_to_vector(double* y, const double* x, double shift, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = math::exp(x[i] - shift);
  return reduce_span_to_vector<Sum<double>>(y, n);
}

// The same, and returns the sum.
template <class T>
inline T exp_span(T* y, const T* x, T shift, int64_t n) {
  return reduce_lanes<Sum<T>>(exp_to_vector(y, x, shift, n));
}

// y[i] = exp(x[i] - shift[i]), where no x[i] is larger than its shift.
inline void exp_columns(float* y, const float* x, const float* shift, int64_t n) {
  constexpr int64_t kWidth = kLanes<float>;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(y + i, exp_not_large(load(x + i) - load(shift + i)));
  if (i < n)
    store_first(y + i, exp_not_large(load_first(x + i, n - i) - load_first(shift + i, n - i)),
                n - i);
}

inline void exp_columns(double* y, const double* x, const double* shift, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = math::exp(x[i] - shift[i]);
}

}  // namespace
}  // namespace dt::cpu
