// Quotients and remainders of vectors of int64_t with AVX2, which has neither, nor conversions to
// double.
#pragma once

#include "kernels/cpu/lanes.h"

#if defined(__AVX2__) && !defined(__AVX512F__)

namespace dt::cpu {
namespace {

// Added to an integer of less than 51 bits and a sign, as a double, it makes of the last bits the
// integer.
constexpr double kIntegers = 0x1.8p52;
constexpr int64_t kIntegerBits = 0x4338000000000000;

inline Vector<double> to_doubles(Vector<int64_t> x) {
  return reinterpret_cast<Vector<double>>(x + kIntegerBits) - kIntegers;
}

inline Vector<int64_t> to_integers(Vector<double> x) {
  return reinterpret_cast<Vector<int64_t>>(x + kIntegers) - kIntegerBits;
}

template <class Divide>
__attribute__((noinline)) Vector<int64_t> divide_each(Vector<int64_t> a, Vector<int64_t> b,
                                                      const Divide& divide) {
  return Vector<int64_t>{divide(a[0], b[0]), divide(a[1], b[1]), divide(a[2], b[2]),
                         divide(a[3], b[3])};
}

// a / b, or what it leaves of a, rounded downwards or towards zero; 0 where b is 0. A quotient of
// doubles that are such integers lies on the right side of every integer, since one that is none is
// further from it than it is rounded by. Of larger integers divide(a, b) is asked.
template <bool kFloor, bool kRest, class Divide>
inline Vector<int64_t> lane_divide(Vector<int64_t> a, Vector<int64_t> b, const Divide& divide) {
  typedef Vector<uint64_t> Bits;
  constexpr int64_t kEnd = int64_t(1) << 50;
  const Bits beyond = (reinterpret_cast<Bits>(a + kEnd) | reinterpret_cast<Bits>(b + kEnd)) >> 51;
  const __m256i far = reinterpret_cast<__m256i>(beyond);
  if (!_mm256_testz_si256(far, far)) return divide_each(a, b, divide);
  const Vector<int64_t> is_zero = b == 0;
  const Vector<double> x = to_doubles(a), y = to_doubles(b - is_zero);
  constexpr int kRound = (kFloor ? _MM_FROUND_TO_NEG_INF : _MM_FROUND_TO_ZERO) | _MM_FROUND_NO_EXC;
  const Vector<double> quotient = _mm256_round_pd(x / y, kRound);
  return to_integers(kRest ? x - quotient * y : quotient) & ~is_zero;
}

}  // namespace
}  // namespace dt::cpu

#endif
