// math.h on a CPU: own polynomials, written so that GCC and clang turn loops over them into vector
// code for any instruction set. Coefficients are minimax (Remez) on the interval that each comment
// names; "error" there is the polynomial's own, relative to the function.
//
// Three tricks recur:
// - Adding 1.5 * 2^23 (2^52 for double) rounds a small number to an integer and leaves that integer
//   in the low bits of the sum, so no conversion instruction is needed (there is none from double
//   to int64 before AVX-512).
//
// - A constant times an integer k is split in two: the high part has enough trailing zeros for its
//   product with k to be exact, so the subtraction of a nearby multiple loses nothing.
//
// - Exceptional arguments are never branched on: they flow through or are put right by a select at
//   the end.
#pragma once

#include <stdint.h>

namespace dt::math {

constexpr double kInfinity = __builtin_inf();
constexpr double kNaN = __builtin_nan("");

// ---- bits

template <class T>
struct Format;

template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr Bits kSign = 0x80000000u, kBias = 127;
  static constexpr Bits kHalfRoot = 0x3f3504f3u;  // sqrt(1/2)
  static constexpr float kRounder = 0x1.8p23f, kExpRounder = 0x1.8p23f + 254;
  static constexpr float kSmallest = 0x1p-126f, kFromSubnormal = 0x1p25f,
                         kFromSubnormalExponent = 25;
  // exp: below kLeastExponent it is 0, above kGreatestExponent infinite. ln 2 = kLn2High + kLn2Low.
  static constexpr float kLeastExponent = -104.0f, kGreatestExponent = 89.0f;
  static constexpr float kLn2High = 0x1.63p-1f, kLn2Low = -0x1.bd0106p-13f;
};

template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr Bits kSign = 0x8000000000000000u, kBias = 1023;
  static constexpr Bits kHalfRoot = 0x3fe6a09e667f3bcdu;
  static constexpr double kRounder = 0x1.8p52, kExpRounder = 0x1.8p52 + 2046;
  static constexpr double kSmallest = 0x1p-1022, kFromSubnormal = 0x1p54,
                          kFromSubnormalExponent = 54;
  static constexpr double kLeastExponent = -746.0, kGreatestExponent = 710.0;
  static constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
};

template <class T>
using BitsOf = typename Format<T>::Bits;

DT_MATH uint32_t to_bits(float x) {
  uint32_t bits = 0;
  __builtin_memcpy(&bits, &x, sizeof(x));
  return bits;
}

DT_MATH uint64_t to_bits(double x) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &x, sizeof(x));
  return bits;
}

DT_MATH float from_bits(uint32_t bits) {
  float x = 0;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

DT_MATH double from_bits(uint64_t bits) {
  double x = 0;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

// A truth value that is the same for all elements of a loop. Compilers make no vector code of a
// choice by a bool that does not change; of a mask they do.
template <class T>
class Uniform {
 public:
  DT_FN explicit Uniform(bool value) : mask_(value ? ~BitsOf<T>(0) : BitsOf<T>(0)) {}
  DT_MATH T choose(T a, T b) const {
    return from_bits(BitsOf<T>((to_bits(a) & mask_) | (to_bits(b) & ~mask_)));
  }

 private:
  BitsOf<T> mask_;
};

// ---- functions that are instructions

// a * b + c, rounded once where the instruction set can (v3, v4) and twice where it cannot (v2):
// callers must be accurate either way.
DT_MATH float fma(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

DT_MATH double fma(double a, double b, double c) {
#ifdef __FMA__
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

DT_MATH float abs(float x) {
  return __builtin_fabsf(x);
}
DT_MATH double abs(double x) {
  return __builtin_fabs(x);
}
DT_MATH float copysign(float x, float sign) {
  return __builtin_copysignf(x, sign);
}
DT_MATH double copysign(double x, double sign) {
  return __builtin_copysign(x, sign);
}
DT_MATH float sqrt(float x) {
  return __builtin_sqrtf(x);
}
DT_MATH double sqrt(double x) {
  return __builtin_sqrt(x);
}
DT_MATH float rsqrt(float x) {
  return 1.0f / __builtin_sqrtf(x);
}
DT_MATH double rsqrt(double x) {
  return 1.0 / __builtin_sqrt(x);
}
DT_MATH float floor(float x) {
  return __builtin_floorf(x);
}
DT_MATH double floor(double x) {
  return __builtin_floor(x);
}
DT_MATH float ceil(float x) {
  return __builtin_ceilf(x);
}
DT_MATH double ceil(double x) {
  return __builtin_ceil(x);
}
DT_MATH float trunc(float x) {
  return __builtin_truncf(x);
}
DT_MATH double trunc(double x) {
  return __builtin_trunc(x);
}
// To the nearest integer, halves to even.
DT_MATH float round(float x) {
  return __builtin_rintf(x);
}
DT_MATH double round(double x) {
  return __builtin_rint(x);
}

// c0 + c1 x + c2 x^2 + ...
template <class T>
DT_MATH T polynomial(T, T c) {
  return c;
}

template <class T, class... More>
DT_MATH T polynomial(T x, T c, More... more) {
  return fma(polynomial(x, more...), x, c);
}

// ---- exp, expm1

// x = k ln 2 + r with |r| <= ln 2 / 2, and p = e^r - 1. The low bits of k_bits hold k + 2 kBias:
// one bias for each of two factors whose product is 2^k.
template <class T>
struct ExpParts {
  T p;
  BitsOf<T> k_bits;
};

// (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2; error of e^r - 1 2^-26, of e^r 2^-61.
DT_MATH float exp_tail(float r) {
  return polynomial(r, 0.49999997f, 0.16666539f, 0.041667752f, 0.008367085f, 0.0013836371f);
}

DT_MATH double exp_tail(double r) {
  return polynomial(r, 0.5, 0.16666666666666677, 0.0416666666666667, 0.008333333333321436,
                    0.0013888888888866436, 0.0001984126988667194, 2.4801587361312042e-05,
                    2.7557243610469814e-06, 2.755724213267834e-07, 2.51092614267397e-08,
                    2.092463371286007e-09);
}

template <class T>
DT_MATH ExpParts<T> exp_parts(T x) {
  using F = Format<T>;
  const T shifted = fma(x, T(1.4426950408889634), F::kExpRounder);
  const T k = shifted - F::kExpRounder;
  const T r = fma(k, -F::kLn2Low, fma(k, -F::kLn2High, x));
  return {fma(r * r, exp_tail(r), r), to_bits(shifted)};
}

// 2^(k + more) for k as in ExpParts, where that is a normal number.
template <class T>
DT_MATH T power_of_two(BitsOf<T> k_bits, int more = 0) {
  using F = Format<T>;
  const BitsOf<T> bias = F::kBias - BitsOf<T>(more);
  return from_bits(BitsOf<T>((k_bits << F::kMantissa) - (bias << F::kMantissa)));
}

// 2^k (1 + p) in two steps, because 2^k itself may be out of range where the result is not.
template <class T>
DT_MATH T scale(ExpParts<T> e) {
  const BitsOf<T> half = e.k_bits >> 1, rest = e.k_bits - half;
  const T power = from_bits(BitsOf<T>(half << Format<T>::kMantissa));
  return fma(e.p, power, power) * from_bits(BitsOf<T>(rest << Format<T>::kMantissa));
}

// Both keep NaN.
template <class T>
DT_MATH T at_least(T low, T x) {
  return x < low ? low : x;
}
template <class T>
DT_MATH T at_most(T high, T x) {
  return x > high ? high : x;
}

// Both comparisons ask about x: the second of at_most(high, at_least(low, x)) would be made three
// by a compiler that follows the first one's outcomes.
template <class T>
DT_MATH T clamp(T x, T low, T high) {
  const T bounded = x < low ? low : x;
  return x > high ? high : bounded;
}

template <class T>
DT_MATH T exp_of(T x) {
  return scale(exp_parts(clamp(x, Format<T>::kLeastExponent, Format<T>::kGreatestExponent)));
}

// 2^k p + (2^k - 1), with half of 2^k so that k = 128 (1024) does not overflow before the sum does.
// From -40 down the result is -1.
template <class T>
DT_MATH T expm1_of(T x) {
  const ExpParts<T> e = exp_parts(clamp(x, T(-40), Format<T>::kGreatestExponent));
  const T half = power_of_two<T>(e.k_bits, -1);
  const T y = T(2) * fma(e.p, half, half - T(0.5));
  return x == T(0) ? x : y;
}

DT_MATH float exp(float x) {
  return exp_of(x);
}
DT_MATH double exp(double x) {
  return exp_of(x);
}
DT_MATH float expm1(float x) {
  return expm1_of(x);
}
DT_MATH double expm1(double x) {
  return expm1_of(x);
}

// ---- log, log1p

// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for x > 0.
template <class T>
struct LogParts {
  T k;
  T f;
};

template <class T>
DT_MATH LogParts<T> log_parts(T x) {
  using F = Format<T>;
  const bool subnormal = x < F::kSmallest;
  const BitsOf<T> bits = to_bits(subnormal ? x * F::kFromSubnormal : x);
  const BitsOf<T> one = F::kBias << F::kMantissa;
  const BitsOf<T> shifted = bits + (one - F::kHalfRoot);
  // The biased exponent becomes a number by the rounder's trick in reverse.
  const BitsOf<T> exponent = (shifted >> F::kMantissa) | to_bits(F::kRounder);
  const T k = from_bits(exponent) - (F::kRounder + T(F::kBias));
  const BitsOf<T> mantissa = (shifted & ((BitsOf<T>(1) << F::kMantissa) - 1)) + F::kHalfRoot;
  return {subnormal ? k - F::kFromSubnormalExponent : k, from_bits(mantissa) - T(1)};
}

// (ln(1 + f) - f) / f^2, error 2^-28 of ln(1 + f).
DT_MATH float log_tail(float f) {
  return polynomial(f, -0.499999881f, 0.333333254f, -0.250016004f, 0.20002f, -0.166087613f,
                    0.141812205f, -0.132447198f, 0.12908487f, -0.0762271434f);
}

// k ln 2 + ln(1 + f) + correction, summed from the smallest term up.
DT_MATH float log_sum(LogParts<float> x, float correction) {
  const float low = fma(x.k, Format<float>::kLn2Low, correction);
  return fma(x.k, Format<float>::kLn2High, x.f + fma(x.f * x.f, log_tail(x.f), low));
}

// With s = f / (2 + f): ln(1 + f) = 2 atanh(s) = f - f^2 / 2 + s (f^2 / 2 + R(s^2)); error 2^-65.
// `more` is what is added before f is.
DT_MATH double log_near_one(double f, double more) {
  const double half_square = 0.5 * f * f, s = f / (2.0 + f), z = s * s;
  const double tail = z * polynomial(z, 0.6666666666666666, 0.4000000000000624, 0.28571428569087104,
                                     0.22222222646614137, 0.18181775680267093, 0.15387090101667714,
                                     0.13250133194056607, 0.13251189623390672);
  return f - (half_square - fma(s, half_square + tail, more));
}

DT_MATH double log_sum(LogParts<double> x, double correction) {
  const double low = fma(x.k, Format<double>::kLn2Low, correction);
  return fma(x.k, Format<double>::kLn2High, log_near_one(x.f, low));
}

// The exceptional values of log at u: `y` holds for 0 < u < infinity.
template <class T>
DT_MATH T log_edges(T u, T y) {
  const T finite = u == T(kInfinity) ? u : y;
  return u > T(0) ? finite : u == T(0) ? T(-kInfinity) : T(kNaN);
}

template <class T>
DT_MATH T log_of(T x) {
  return log_edges(x, log_sum(log_parts(x), T(0)));
}

// 1 + x rounds to u; what rounding dropped comes back as a first-order correction.
template <class T>
DT_MATH T log1p_of(T x) {
  const T u = T(1) + x;
  const T rounded = u - T(1);
  const T dropped = (T(1) - (u - rounded)) + (x - rounded);
  const T y = log_edges(u, log_sum(log_parts(u), dropped / u));
  return x == T(0) ? x : y;
}

DT_MATH float log(float x) {
  return log_of(x);
}
DT_MATH double log(double x) {
  return log_of(x);
}
DT_MATH float log1p(float x) {
  return log1p_of(x);
}
DT_MATH double log1p(double x) {
  return log1p_of(x);
}

// ---- tanh, sigmoid

// (tanh(x) / x - 1) / x^2 in z = x^2 on |x| <= 0.55, error 2^-30 and 2^-60.
DT_MATH float tanh_tail(float z) {
  return polynomial(z, -0.33333316f, 0.13332544f, -0.053847548f, 0.021050714f, -0.0062428494f);
}

DT_MATH double tanh_tail(double z) {
  return polynomial(z, -0.333333333333333, 0.1333333333332639, -0.053968253963622335,
                    0.021869488381790515, -0.008863232533064678, 0.0035920913218575813,
                    -0.0014555381679757862, 0.0005884247676839021, -0.00023333019638209273,
                    8.324111614401583e-05, -1.9447138800805138e-05);
}

// Beyond 0.55, where tanh is more than one half, 1 - 2 / (E + 1) with E = e^(2|x|).
template <class T>
DT_MATH T tanh_of(T x) {
  const T a = abs(x), z = x * x;
  const T small = fma(x, z * tanh_tail(z), x);
  const ExpParts<T> e = exp_parts(at_most(T(40), T(2) * a));
  const T power = power_of_two<T>(e.k_bits);
  const T large = T(1) - T(2) / fma(e.p, power, power + T(1));
  return copysign(a < T(0.55) ? small : large, x);
}

// With e = e^-|x| and q = e / (1 + e): 1 - q for positive x and e (1 - q) for negative x.
template <class T>
DT_MATH T sigmoid_of(T x) {
  const T e = scale(exp_parts(at_least(Format<T>::kLeastExponent, -abs(x))));
  const T q = e / (T(1) + e);
  return x < T(0) ? fma(-e, q, e) : T(1) - q;
}

DT_MATH float tanh(float x) {
  return tanh_of(x);
}
DT_MATH double tanh(double x) {
  return tanh_of(x);
}
DT_MATH float sigmoid(float x) {
  return sigmoid_of(x);
}
DT_MATH double sigmoid(double x) {
  return sigmoid_of(x);
}

// ---- erf: x + x P(x^2) up to 1; beyond, 1 - 2^(x G(x)), where x G(x) = log2(erfc(x))

// erf(x) / x - 1 on [0, 1], error 2^-29 and 2^-62.
DT_MATH float erf_small(float z) {
  return polynomial(z, 0.128379166f, -0.37612626f, 0.112835854f, -0.0268538129f, 0.00518832775f,
                    -0.000801019196f, 7.853852e-05f);
}

DT_MATH double erf_small(double z) {
  return polynomial(z, 0.1283791670955126, -0.3761263890318375, 0.11283791670954857,
                    -0.026866170645072893, 0.005223977624780849, -0.0008548326978741218,
                    0.00012055331036867641, -1.4925593506254136e-05, 1.646097280914595e-06,
                    -1.6350025163666317e-07, 1.4657879601536979e-08, -1.1365665583128013e-09,
                    5.945261941183837e-11);
}

// log2(erfc(x)) / x on [1, 4] and [1, 6], error 2^-28 and 2^-61 of erf.
DT_MATH float erf_large(float x) {
  return polynomial(x, -1.628046f, -0.9173327f, -0.15162212f, 0.032873172f, -0.0045922087f,
                    0.00030322265f);
}

DT_MATH double erf_large(double x) {
  return polynomial(x, -1.627907078134279, -0.9184475954232821, -0.14827286134979045,
                    0.027608240528985133, 0.00027292096529544726, -0.0023940881513331734,
                    0.0007761367208095027, 4.708218548991848e-05, -0.00016892900855368056,
                    9.779031964919937e-05, -3.671375848563201e-05, 1.031050803886015e-05,
                    -2.2496583615780893e-06, 3.8308121382889233e-07, -5.0180922554642375e-08,
                    4.895037306670032e-09, -3.3519854780732607e-10, 1.4378507067599616e-11,
                    -2.906209589442325e-13);
}

// 2^r on |r| <= 1/2, error 2^-23 and 2^-52: for numbers below 1/6 that are subtracted from 1.
DT_MATH float exp2_near_zero(float r) {
  return polynomial(r, 1.0000001f, 0.6931474f, 0.24021919f, 0.05549753f, 0.009684863f,
                    0.0013636583f);
}

DT_MATH double exp2_near_zero(double r) {
  return polynomial(r, 1.0, 0.6931471805599497, 0.24022650695908768, 0.055504108664459,
                    0.009618129108034891, 0.00133335582285357, 0.00015403529960711067,
                    1.5252658130958496e-05, 1.3215663053575365e-06, 1.0208535284530156e-07,
                    7.037241035574904e-09);
}

template <class T>
DT_MATH T erf_of(T x, T one_from) {
  using F = Format<T>;
  const T a = abs(x), b = at_most(one_from, a);
  const T small = fma(x, erf_small(x * x), x);
  // erfc(b) = 2^exponent.
  const T exponent = b * erf_large(b), shifted = exponent + F::kExpRounder;
  const T r = exponent - (shifted - F::kExpRounder);
  const T large = fma(-exp2_near_zero(r), power_of_two<T>(to_bits(shifted)), T(1));
  return a < T(1) ? small : copysign(large, x);
}

DT_MATH float erf(float x) {
  return erf_of(x, 4.0f);
}
DT_MATH double erf(double x) {
  return erf_of(x, 6.0);
}

}  // namespace dt::math

#include "kernels/math_host_trig.h"
#include "kernels/math_host_pow.h"
