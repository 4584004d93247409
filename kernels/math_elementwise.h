// More of math.h: functions that elementwise kernels alone call, in a header of their own so that
// no other kernel compiles again for them.
#pragma once

#include "kernels/math.h"

#if !defined(__CUDA_ARCH__) && !defined(__CUDACC_RTC__)
#include "kernels/math_host_inverse.h"
#endif

namespace dt::math {

DT_MATH bool signbit(float x) {
  return copysign(1.0f, x) < 0.0f;
}
DT_MATH bool signbit(double x) {
  return copysign(1.0, x) < 0.0;
}
DT_MATH bool signbit(int32_t x) {
  return x < 0;
}
DT_MATH bool signbit(int64_t x) {
  return x < 0;
}

// The larger number is factored out, so that no square overflows or vanishes.
DT_MATH double hypot(double a, double b) {
  const double x = abs(a), y = abs(b);
  const double larger = maximum(x, y), ratio = minimum(x, y) / larger;
  const double scaled = larger * sqrt(1.0 + ratio * ratio);  // NaN where larger is 0
  const double length = larger == 0.0 ? 0.0 : scaled;
  return isinf(x) | isinf(y) ? kInfinity : length;
}
// A float's square neither overflows nor vanishes in double.
DT_MATH float hypot(float a, float b) {
  const double x = double(a), y = double(b);
  const float length = float(sqrt(x * x + y * y));
  return isinf(a) | isinf(b) ? float(kInfinity) : length;
}

// 0 also times the infinite logarithm of 0.
template <class T>
DT_MATH T xlogy(T a, T b) {
  return (a == T(0)) & (b == b) ? T(0) : a * log(b);
}
template <class T>
DT_MATH T xlog1py(T a, T b) {
  return (a == T(0)) & (b == b) ? T(0) : a * log1p(b);
}

// From the nearer end, of which a weight of 0 or 1 leaves all digits.
template <class T>
DT_FN T lerp(T input, T end, T weight) {
  const auto is_near = lt(abs(weight), T(0.5));
  return where(is_near, input, end) + where(is_near, weight, weight - T(1)) * (end - input);
}

DT_MATH int32_t fmod(int32_t a, int32_t b) {
  return int_remainder(a, b);
}
DT_MATH int64_t fmod(int64_t a, int64_t b) {
  return int_remainder(a, b);
}

// Euclid's algorithm: a loop, so no vector code.
template <class T, class Unsigned>
DT_MATH T int_gcd(T a, T b) {
  Unsigned x = Unsigned(abs(a)), y = Unsigned(abs(b));
  while (y != 0) {
    const Unsigned rest = x % y;
    x = y;
    y = rest;
  }
  return T(x);
}
DT_MATH int32_t gcd(int32_t a, int32_t b) {
  return int_gcd<int32_t, uint32_t>(a, b);
}
DT_MATH int64_t gcd(int64_t a, int64_t b) {
  return int_gcd<int64_t, uint64_t>(a, b);
}

// The derivative of a binary cross-entropy by the probability. PyTorch's bound is a float32,
// whatever it computes in.
template <class T>
DT_FN T cross_entropy_slope(T probability, T target) {
  return (probability - target) /
         maximum((T(1) - probability) * probability, T(9.999999960041972e-13));
}

// Modulo 2^bits.
template <class T, class Unsigned>
DT_MATH T int_lcm(T a, T b) {
  const T divisor = gcd(a, b);
  const T factor = a / (divisor == 0 ? T(1) : divisor);
  return abs(T(Unsigned(factor) * Unsigned(b)));
}
DT_MATH int32_t lcm(int32_t a, int32_t b) {
  return int_lcm<int32_t, uint32_t>(a, b);
}
DT_MATH int64_t lcm(int64_t a, int64_t b) {
  return int_lcm<int64_t, uint64_t>(a, b);
}

}  // namespace dt::math

#include "kernels/math_special.h"
