// Powers of floats by one exponent for all of them.
#pragma once

#include <math.h>
#include <stdint.h>

#include "kernels/math.h"

namespace dt::cuda {
namespace {

// Of polynomials, from the coefficient of the highest power on.
// log2(1 + x) / x for 1 + x between roots of a half and of 2; relative error 2^-33.
__constant__ double log2_terms[] = {
    -0x1.596fe0ad058e9p-4, 0x1.3a457f7b88997p-3, -0x1.41fffb996be3bp-3, 0x1.4645e59a19d95p-3,
    -0x1.6eb2698f20328p-3, 0x1.a608e4d0d3e8fp-3, -0x1.ec8cbb28a47c8p-3, 0x1.2777694c44e0cp-2,
    -0x1.715438ed50d70p-2, 0x1.ec709b5b33c19p-2, -0x1.71547678f1feep-1, 0x1.715476530458cp+0};
// 2 ^ x for x between -1/2 and 1/2; relative error 2^-28.5.
__constant__ double exp2_terms[] = {0x1.443fffc90d505p-13,
                                    0x1.5f48c04f62e26p-10,
                                    0x1.3b2a1b7152bfap-7,
                                    0x1.c6aecc669b6dep-5,
                                    0x1.ebfbe045f4d3cp-3,
                                    0x1.62e430d034702p-1,
                                    1.0};

template <int kTerms>
__device__ __forceinline__ double polynomial(const double (&term)[kTerms], double x) {
  double sum = term[0];
#pragma unroll
  for (int i = 1; i < kTerms; ++i) sum = fma(sum, x, term[i]);
  return sum;
}

// 2 ^ (exponent * log2(|x|)) for a finite x that is not 0. In double, that takes fewer steps than
// to carry along what floats round off, and the result is wrong by at most 0.6 of a unit in the
// last place.
__device__ __forceinline__ float power_of_size(float x, double exponent) {
  constexpr int kRootOfHalf = 0x3fe6a09e, kExponentBits = 0xfff << 20;  // of a high word
  constexpr double kToInteger = 0x1.8p52;  // with it, a sum's low word is a rounded integer
  constexpr int kFarOut = 200;             // no float has such an exponent of 2
  const double size = fabsf(x);
  const int high = __double2hiint(size), above = high - kRootOfHalf;
  const double factor = __hiloint2double(high - (above & kExponentBits), __double2loint(size));
  const double rest = factor - 1;
  const double log = fma(polynomial(log2_terms, rest), rest, static_cast<double>(above >> 20));
  const double rounded = fma(exponent, log, kToInteger);
  const double power = polynomial(exp2_terms, fma(exponent, log, kToInteger - rounded));
  const int twos = min(max(__double2loint(rounded), -kFarOut), kFarOut);
  return static_cast<float>(
      __hiloint2double(__double2hiint(power) + twos * (1 << 20), __double2loint(power)));
}

// An exponent and what follows from it: the factor of powers of negative numbers; what turns 0 and
// infinity, bit by bit, into their powers, with the sign bit if they keep their sign.
struct Exponent {
  float value, of_negative, turned;

  explicit Exponent(float exponent) : value(exponent) {
    const bool is_whole = floorf(exponent) == exponent;
    const bool is_odd = is_whole && floorf(exponent / 2) != exponent / 2;
    of_negative = is_odd ? -1.0f : is_whole ? 1.0f : NAN;
    turned = copysignf(exponent < 0 ? INFINITY : 0.0f, is_odd ? -1.0f : 1.0f);
  }
  // Whether power() takes it. Larger ones would not fit its rounded integer.
  bool is_usual() const { return value != 0 && fabsf(value) < 65536; }
};

// No jumps: a thread has several powers in the works at a time.
__device__ __forceinline__ float power(float x, float exponent, float of_negative, float turned) {
#if __CUDA_ARCH__ == 900  // what is made for 8.0 also runs where doubles are slow
  constexpr uint32_t kSize = 0x7fffffff, kInfinity = 0x7f800000;
  const uint32_t bits = __float_as_uint(x), size = bits & kSize;
  float result = power_of_size(x, exponent);
  if (bits != size) result *= of_negative;
  if (size - 1 >= kInfinity - 1)
    result = __uint_as_float(size ^ (__float_as_uint(turned) & (bits | kSize)));
  return isnan(x) ? x : result;
#else
  return math::pow(x, exponent);
#endif
}

}  // namespace
}  // namespace dt::cuda
