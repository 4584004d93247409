// Scalar mathematics for elementwise kernels: one text for every CPU instruction set, CUDA and
// NVRTC.
//
// Every function is branch-free (exceptions say so), so that a loop that calls it becomes vector
// code. On a GPU the names forward to CUDA's own functions; on a CPU they are the polynomials of
// math_host.h, within 2 units in the last place for every float and double
// (tests/kernels/math_test.cpp).
#pragma once

// DT_FN marks a function that runs wherever the kernels run. It is constexpr so that a formula can
// be evaluated at compile time over a type that counts operations (kernels/cpu/formula_types.h).
#ifdef __CUDACC__
#define DT_FN constexpr __host__ __device__ __forceinline__
#define DT_MATH __host__ __device__ __forceinline__
#else
#define DT_FN constexpr __attribute__((always_inline))
#define DT_MATH inline __attribute__((always_inline))
#endif

#if defined(__CUDA_ARCH__) || defined(__CUDACC_RTC__)
#include "kernels/math_device.h"
#else
#include "kernels/math_host.h"
#endif

namespace dt::math {

// ---- choosing and comparing. Conditions are combined with & and |, which evaluate both sides: no
// jumps.

template <class T>
DT_FN T where(bool condition, T a, T b) {
  return condition ? a : b;
}

template <class T>
DT_MATH T where(Uniform<T> condition, T a, T b) {
  return condition.choose(a, b);
}

template <class T>
DT_FN bool eq(T a, T b) {
  return a == b;
}

template <class T>
DT_FN bool ne(T a, T b) {
  return a != b;
}

template <class T>
DT_FN bool lt(T a, T b) {
  return a < b;
}

template <class T>
DT_FN bool le(T a, T b) {
  return a <= b;
}

template <class T>
DT_FN bool gt(T a, T b) {
  return a > b;
}

template <class T>
DT_FN bool ge(T a, T b) {
  return a >= b;
}

DT_FN bool logical_and(bool a, bool b) {
  return a & b;
}

DT_FN bool logical_or(bool a, bool b) {
  return a | b;
}

DT_FN bool logical_not(bool a) {
  return !a;
}

// NaN wins. The result is compared with nothing but the other operand: asking whether `a` is NaN
// would keep GCC from making vector code of one such function over another.
template <class T>
DT_FN T maximum(T a, T b) {
  const T larger = a <= b ? b : a;
  return b != b ? b : larger;
}

template <class T>
DT_FN T minimum(T a, T b) {
  const T smaller = a >= b ? b : a;
  return b != b ? b : smaller;
}

// 0 for NaN, as PyTorch.
template <class T>
DT_FN T sign(T x) {
  return T(x > T(0)) - T(x < T(0));
}

template <class T>
DT_FN T square(T x) {
  return x * x;
}

// log(sigmoid(x)), without overflow. Over Tensors it is an op, whose gradient is smooth at 0, as
// that of these pieces is not.
template <class T>
DT_FN T logsigmoid(T x) {
  return minimum(x, T(0)) - log1p(exp(-abs(x)));
}

// The identity for real numbers: formulas say where complex ones will need it.
template <class T>
DT_FN T conj(T x) {
  return x;
}

DT_MATH bool isinf(float x) {
  return abs(x) == float(kInfinity);
}
DT_MATH bool isinf(double x) {
  return abs(x) == kInfinity;
}
DT_MATH bool isinf(int32_t) {
  return false;
}
DT_MATH bool isinf(int64_t) {
  return false;
}

DT_MATH bool isfinite(float x) {
  return abs(x) < float(kInfinity);
}
DT_MATH bool isfinite(double x) {
  return abs(x) < kInfinity;
}
DT_MATH bool isfinite(int32_t) {
  return true;
}
DT_MATH bool isfinite(int64_t) {
  return true;
}

// ---- integers

DT_MATH int32_t abs(int32_t x) {
  return x < 0 ? int32_t(0u - uint32_t(x)) : x;
}
DT_MATH int64_t abs(int64_t x) {
  return x < 0 ? int64_t(uint64_t(0) - uint64_t(x)) : x;
}

DT_MATH int32_t floor(int32_t x) {
  return x;
}
DT_MATH int64_t floor(int64_t x) {
  return x;
}
DT_MATH int32_t ceil(int32_t x) {
  return x;
}
DT_MATH int64_t ceil(int64_t x) {
  return x;
}
DT_MATH int32_t trunc(int32_t x) {
  return x;
}
DT_MATH int64_t trunc(int64_t x) {
  return x;
}
DT_MATH int32_t round(int32_t x) {
  return x;
}
DT_MATH int64_t round(int64_t x) {
  return x;
}

// Division by zero gives 0 and the smallest integer divided by -1 wraps around: neither may trap.
// Both are divided by 1 instead, and what comes out is multiplied by them. Masks say which it is,
// all bits or none: of conditions a compiler makes jumps, and of random numbers nobody can guess
// those.
template <class T>
DT_MATH T special_divisor(T b) {
  return -T((b == 0) | (b == -1));
}

template <class T>
DT_MATH T safe_divisor(T b) {
  const T special = special_divisor(b);
  return (b & ~special) - special;
}

// a / b towards zero, for b that is neither 0 nor -1. By way of double, which has vectors of
// quotients: that of int32_t is exact as soon as it is truncated. That of int64_t is off by a
// little of its last places; what is left of a is divided once more, and what is left then is at
// most one b.
#if defined(__CUDA_ARCH__) || defined(__CUDACC_RTC__)
template <class T>
DT_MATH T int_quotient(T a, T b) {
  return a / b;
}
#else
DT_MATH int32_t int_quotient(int32_t a, int32_t b) {
  return int32_t(double(a) / double(b));
}
DT_MATH int64_t int_quotient(int64_t a, int64_t b) {
#ifdef __AVX512DQ__
  const double over = 1.0 / double(b);
  const int64_t near = int64_t(double(a) * over);
  const int64_t quotient = near + int64_t(double(a - near * b) * over);
  const int64_t rest = a - quotient * b, sign_of_quotient = (a ^ b) >> 63 | 1;
  const uint64_t left = uint64_t(rest < 0 ? -rest : rest), size = uint64_t(b < 0 ? -b : b);
  const int64_t is_beyond = (rest != 0) & ((rest ^ a) < 0), is_short = (left >= size) & ~is_beyond;
  return quotient + sign_of_quotient * (is_short - is_beyond);
#else
  return a / b;
#endif
}
#endif

template <class T>
DT_MATH T int_div_trunc(T a, T b) {
  const T special = special_divisor(b);
  const T factor = (b & special) + 1 + special;
  return T(uint64_t(int_quotient(a, safe_divisor(b))) * uint64_t(factor));
}

// Of a remainder towards zero: whether it is not 0 and has not the divisor's sign.
template <class T>
DT_MATH T wrong_sign(T remainder, T b) {
  return ((remainder ^ b) & (remainder | -remainder)) >> (8 * sizeof(T) - 1);
}

template <class T>
DT_MATH T int_remainder(T a, T b) {
  const T divisor = safe_divisor(b);
  return a - int_quotient(a, divisor) * divisor;
}

template <class T>
DT_MATH T int_modulo(T a, T b) {
  const T remainder = int_remainder(a, b);
  return remainder + (b & wrong_sign(remainder, b));
}

template <class T>
DT_MATH T int_div_floor(T a, T b) {
  return int_div_trunc(a, b) + wrong_sign(int_remainder(a, b), b);
}

// By repeated squaring (a loop over the bits of the exponent), modulo 2^bits. A negative exponent
// is 1 / x^|e| towards zero, and 0 for x = 0.
template <class T, class Unsigned>
DT_MATH T int_pow(T x, T exponent) {
  if (exponent < 0) return x == 1 ? T(1) : x == -1 ? (exponent % 2 ? T(-1) : T(1)) : T(0);
  Unsigned result = 1, power = Unsigned(x);
  for (Unsigned e = Unsigned(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= power;
    power *= power;
  }
  return T(result);
}

// By less than no bits, or by all of them, nothing is left but the sign.
template <class T, class Unsigned>
DT_MATH T int_left_shift(T x, T n) {
  constexpr T kBits = T(8 * sizeof(T));
  const bool in_range = (n >= 0) & (n < kBits);
  return in_range ? T(Unsigned(x) << (in_range ? n : T(0))) : T(0);
}

template <class T>
DT_MATH T int_right_shift(T x, T n) {
  constexpr T kBits = T(8 * sizeof(T));
  return x >> ((n >= 0) & (n < kBits) ? n : kBits - 1);
}

DT_MATH int32_t div_trunc(int32_t a, int32_t b) {
  return int_div_trunc(a, b);
}
DT_MATH int64_t div_trunc(int64_t a, int64_t b) {
  return int_div_trunc(a, b);
}
DT_MATH int32_t div_floor(int32_t a, int32_t b) {
  return int_div_floor(a, b);
}
DT_MATH int64_t div_floor(int64_t a, int64_t b) {
  return int_div_floor(a, b);
}
DT_MATH int32_t modulo(int32_t a, int32_t b) {
  return int_modulo(a, b);
}
DT_MATH int64_t modulo(int64_t a, int64_t b) {
  return int_modulo(a, b);
}
DT_MATH int32_t left_shift(int32_t x, int32_t n) {
  return int_left_shift<int32_t, uint32_t>(x, n);
}
DT_MATH int64_t left_shift(int64_t x, int64_t n) {
  return int_left_shift<int64_t, uint64_t>(x, n);
}
DT_MATH int32_t right_shift(int32_t x, int32_t n) {
  return int_right_shift(x, n);
}
DT_MATH int64_t right_shift(int64_t x, int64_t n) {
  return int_right_shift(x, n);
}
DT_MATH int32_t pow(int32_t x, int32_t e) {
  return int_pow<int32_t, uint32_t>(x, e);
}
DT_MATH int64_t pow(int64_t x, int64_t e) {
  return int_pow<int64_t, uint64_t>(x, e);
}

// ---- division of floating numbers, rounded; Python's remainder, whose sign is the divisor's. From
// fmod's remainder of both, which is NaN where that is.

template <class T>
DT_MATH T float_modulo(T b, T remainder) {
  const bool wrong_sign = (remainder != T(0)) & ((remainder < T(0)) != (b < T(0)));
  return wrong_sign ? remainder + b : remainder;
}

// Through the remainder, as Python and PyTorch: floor(a / b) would be wrong where a / b rounds up
// to an integer.
template <class T>
DT_MATH T float_div_floor(T a, T b, T remainder) {
  const bool below = (remainder != T(0)) & ((remainder < T(0)) != (b < T(0)));
  const T ratio = a / b, quotient = (a - remainder) / b - (below ? T(1) : T(0));
  const T rounded = floor(quotient);
  const T exact = quotient - rounded > T(0.5) ? rounded + T(1) : rounded;
  const T result = quotient == T(0) ? copysign(T(0), ratio) : exact;
  return b == T(0) ? ratio : result;
}

DT_MATH float div_trunc(float a, float b) {
  return trunc(a / b);
}
DT_MATH double div_trunc(double a, double b) {
  return trunc(a / b);
}
DT_MATH float div_floor(float a, float b) {
  return float_div_floor(a, b, fmod(a, b));
}
DT_MATH double div_floor(double a, double b) {
  return float_div_floor(a, b, fmod(a, b));
}
DT_MATH float modulo(float a, float b) {
  return float_modulo(b, fmod(a, b));
}
DT_MATH double modulo(double a, double b) {
  return float_modulo(b, fmod(a, b));
}

}  // namespace dt::math
