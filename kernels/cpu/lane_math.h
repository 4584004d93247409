// Functions of kernels/math.h over whole vectors, for AVX-512: its instructions take apart and put
// together floating numbers, look up tables of 16 numbers in registers and estimate reciprocals and
// roots, of which a compiler makes no use by itself. Twice as fast as the loops over math.h's
// formulas, as accurate (2 units in the last place, erfc of double 6), and parts of those formulas
// where nothing is gained by others. Square roots stay the instruction's: an estimate with a step
// behind it is quicker and now and then not the nearest number.
#pragma once

#include "kernels/cpu/simd.h"
#include "kernels/math_elementwise.h"

#if defined(__AVX512F__)

namespace dt::cpu {
namespace {

// ---- instructions, for both types

inline VectorF64 larger(VectorF64 a, VectorF64 b) {
  return _mm512_max_pd(a, b);
}
inline VectorF32 larger(VectorF32 a, VectorF32 b) {
  return _mm512_max_ps(a, b);
}
inline VectorF64 smaller(VectorF64 a, VectorF64 b) {
  return _mm512_min_pd(a, b);
}
inline VectorF32 smaller(VectorF32 a, VectorF32 b) {
  return _mm512_min_ps(a, b);
}

// x times 2 to the power of k, rounded downwards; the result is rounded once.
inline VectorF64 times_power(VectorF64 x, VectorF64 k) {
  return _mm512_scalef_pd(x, k);
}
inline VectorF32 times_power(VectorF32 x, VectorF32 k) {
  return _mm512_scalef_ps(x, k);
}

inline VectorF64 magnitude(VectorF64 x) {
  return _mm512_abs_pd(x);
}
inline VectorF32 magnitude(VectorF32 x) {
  return _mm512_abs_ps(x);
}

// The size of x with the sign of `sign`: each bit is taken from the one or the other.
inline VectorF64 with_sign(VectorF64 x, VectorF64 sign) {
  return _mm512_castsi512_pd(_mm512_ternarylogic_epi64(
      _mm512_castpd_si512(x), _mm512_castpd_si512(sign), _mm512_set1_epi64(INT64_MIN), 0xd8));
}
inline VectorF32 with_sign(VectorF32 x, VectorF32 sign) {
  return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
      _mm512_castps_si512(x), _mm512_castps_si512(sign), _mm512_set1_epi32(INT32_MIN), 0xd8));
}

// x with its sign turned where that of `sign` is negative.
inline VectorF64 times_sign(VectorF64 x, VectorF64 sign) {
  return _mm512_castsi512_pd(_mm512_ternarylogic_epi64(
      _mm512_castpd_si512(x), _mm512_castpd_si512(sign), _mm512_set1_epi64(INT64_MIN), 0x78));
}

// The low bits of `index` choose.
inline VectorF64 look_up(const double (&table)[16], VectorF64 index) {
  return _mm512_permutex2var_pd(load(table), _mm512_castpd_si512(index), load(table + 8));
}

// With masks of all lanes: GCC's forms without one begin from an undefined vector and warn of it.
inline VectorF64 reciprocal_estimate(VectorF64 x) {
  return _mm512_maskz_rcp14_pd(0xff, x);
}
inline VectorF32 reciprocal_estimate(VectorF32 x) {
  return _mm512_maskz_rcp14_ps(0xffff, x);
}

// ---- formulas

// A formula of math.h for each lane. The compiler makes instructions on vectors of the loop.
template <class T, T (*formula)(T)>
inline Vector<T> each(Vector<T> x) {
  T lanes[kLanes<T>];
  for (int i = 0; i < kLanes<T>; ++i) lanes[i] = formula(x[i]);
  return load(lanes);
}

template <class T>
inline Vector<T> bounded(Vector<T> x, T low, T high) {
  return smaller(splat(high), larger(splat(low), x));  // NaN is the second operand, which is kept
}

// 1 / x to 28 bits, to 53 or so: each of Newton's steps doubles them.
template <class V>
inline V better_reciprocal(V x, V y) {
  return multiply_add(y, multiply_add(-x, y, V{} + 1), y);
}
inline VectorF32 reciprocal(VectorF32 x) {
  return better_reciprocal(x, reciprocal_estimate(x));
}
inline VectorF64 reciprocal(VectorF64 x) {
  return better_reciprocal(x, better_reciprocal(x, reciprocal_estimate(x)));
}

// ---- exp, exp2

// An exponent k of 2 is an integer for float, whose e^r has |r| <= ln 2 / 2, and has sixteenths for
// double, whose e^r has |r| <= ln 2 / 32: there are as few steps. Adding the rounder rounds to k
// and leaves its sixteenths in the low bits.
template <class T>
constexpr T kExponentRounder = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p48);

inline VectorF32 less_one(VectorF32 r) {  // e^r - 1
  return multiply_add(r * r, each<float, math::exp_tail>(r), r);
}

// e^r 2^k, where k has been rounded to `shifted`.
inline VectorF32 exp_of_parts(VectorF32 r, VectorF32 shifted) {
  return times_power(less_one(r) + 1, shifted - kExponentRounder<float>);
}

// (e^r - 1 - r) / r^2, error of e^r 2^-57.
DT_MATH double short_tail(double r) {
  return math::polynomial(r, 0.5000000000000004, 0.16666666664364316, 0.041666666660737456,
                          0.008333473254431545, 0.0013889110389919497);
}

inline VectorF64 exp_of_parts(VectorF64 r, VectorF64 shifted) {
  static constexpr double kPowers[16] = {
      0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
      0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
      0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
      0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
  const VectorF64 power = look_up(kPowers, shifted), k = shifted - kExponentRounder<double>;
  const VectorF64 p = multiply_add(r * r, each<double, short_tail>(r), r);
  return times_power(multiply_add(p, power, power), k);  // downwards to a whole k
}

template <class T>
struct PowerLanes {
  Vector<T> r, shifted;
};

// Of e^(x + low), where low is small and x neither too large nor too small for its power of 2.
template <class T>
inline PowerLanes<T> parts_of_power(Vector<T> x, Vector<T> low) {
  using F = math::Format<T>;
  const Vector<T> rounder = splat(kExponentRounder<T>);
  const Vector<T> shifted = multiply_add(x, splat(T(1.4426950408889634)), rounder);
  const Vector<T> k = shifted - rounder, r = multiply_add(k, splat(-F::kLn2High), x) + low;
  return {multiply_add(k, splat(-F::kLn2Low), r), shifted};
}

template <class T>
inline Vector<T> exp_of_sum(Vector<T> x, Vector<T> low) {
  const PowerLanes<T> power = parts_of_power<T>(x, low);
  return exp_of_parts(power.r, power.shifted);
}

template <class T>
inline Vector<T> lane_exp(Vector<T> x) {
  using F = math::Format<T>;
  return exp_of_sum<T>(bounded(x, F::kLeastExponent, F::kGreatestExponent), -splat(T(0)));
}

template <class T>
inline Vector<T> lane_exp2(Vector<T> x) {
  constexpr T kEnd = sizeof(T) == 4 ? T(160) : T(1100);
  const Vector<T> y = bounded(x, -kEnd, kEnd), rounder = splat(kExponentRounder<T>);
  const Vector<T> shifted = y + rounder;
  return exp_of_parts((y - (shifted - rounder)) * T(0.6931471805599453), shifted);
}

// ---- log, log2, log10: x = 2^k m with 3/4 <= m < 3/2

// Which of infinity, NaN and the result the logarithm of x is.
inline VectorF64 log_edges(VectorF64 x, VectorF64 y) {
  return _mm512_fixupimm_pd(y, x, _mm512_set1_epi64(0x03530422), 0);
}
inline VectorF32 log_edges(VectorF32 x, VectorF32 y) {
  return _mm512_fixupimm_ps(y, x, _mm512_set1_epi32(0x03530422), 0);
}

inline VectorF64 mantissa(VectorF64 x) {
  return _mm512_getmant_pd(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
}
inline VectorF32 mantissa(VectorF32 x) {
  return _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
}

inline VectorF64 exponent(VectorF64 x, VectorF64 m) {
  const VectorF64 k = _mm512_getexp_pd(x), one = splat(1.0);
  return _mm512_mask_add_pd(k, _mm512_cmp_pd_mask(m, one, _CMP_LT_OQ), k, one);
}
inline VectorF32 exponent(VectorF32 x, VectorF32 m) {
  const VectorF32 k = _mm512_getexp_ps(x), one = splat(1.0f);
  return _mm512_mask_add_ps(k, _mm512_cmp_ps_mask(m, one, _CMP_LT_OQ), k, one);
}

// ln(m) = base + r + rest.
template <class T>
struct LogLanes {
  Vector<T> base, r, rest;
};

// (ln(1 + f) - f) / f^2 on -1/4 <= f <= 1/2, error 2^-27 of ln(1 + f).
DT_MATH float log_rest(float f) {
  return math::polynomial(f, -0.5f, 0.33333457f, -0.25000125f, 0.19990613f, -0.16645999f,
                          0.14478987f, -0.13174164f, 0.1048792f, -0.04522251f);
}

inline LogLanes<float> log_lanes(VectorF32 m) {
  const VectorF32 f = m - 1;
  return {VectorF32{}, f, f * f * each<float, log_rest>(f)};
}

// (ln(1 + r) - r) / r^2 on -1/32 <= r <= 1/16, error 2^-56 of ln(1 + r).
DT_MATH double log_rest(double r) {
  return math::polynomial(r, -0.5, 0.33333333333347837, -0.24999999999975672, 0.199999999281028,
                          -0.1666666599792751, 0.14285817597598002, -0.12501933886674596,
                          0.11073091511230955, -0.08755171143043942);
}

// By the first four digits of m: a number c near 1 / m of which -ln(c) has no more than 42 digits
// after the point, but for 2^-63; beside 1 it is 1. r = c m - 1 is then at most 1/16.
inline LogLanes<double> log_lanes(VectorF64 m) {
  static constexpr double kNear[16] = {
      0x1.0000000000000p+0, 0x1.d41f2560974f5p-1, 0x1.bada0fd4bd99cp-1, 0x1.a41b43a5cd0e8p-1,
      0x1.8fa0f836953e6p-1, 0x1.7d0da0a7ede97p-1, 0x1.6c1732391d11bp-1, 0x1.5c9a336ab8d78p-1,
      0x1.4e5ffad808dc9p+0, 0x1.4145cd63e415bp+0, 0x1.352240e4a5983p+0, 0x1.29e8777082ae0p+0,
      0x1.1f731dec81974p+0, 0x1.15b32b8028081p+0, 0x1.0c9c99ef8e6e7p+0, 0x1.0000000000000p+0};
  static constexpr double kBase[16] = {0.0,
                                       0x1.6efca1a9b4000p-4,
                                       0x1.2924a6dd4c000p-3,
                                       0x1.9520c00880000p-3,
                                       0x1.fb788ee51e000p-3,
                                       0x1.2e798c1fed000p-2,
                                       0x1.5d1a9eb510000p-2,
                                       0x1.899e4165aa000p-2,
                                       -0x1.117ed853b1000p-2,
                                       -0x1.d1207c4e9e000p-3,
                                       -0x1.823f043f5a000p-3,
                                       -0x1.367dffedd4000p-3,
                                       -0x1.da9ae06f70000p-4,
                                       -0x1.4d43d76958000p-4,
                                       -0x1.89f2f699b0000p-5,
                                       0.0};
  const VectorF64 digits = VectorF64(Vector<uint64_t>(m) >> 48);
  const VectorF64 r = multiply_add(m, look_up(kNear, digits), splat(-1.0));
  return {look_up(kBase, digits), r, r * r * each<double, log_rest>(r)};
}

// k high + base is exact.
template <class T>
inline Vector<T> lane_log(Vector<T> x) {
  constexpr bool kFloat = sizeof(T) == 4;
  constexpr T kHigh = kFloat ? math::Format<T>::kLn2High : T(0x1.62e42fefa3800p-1);
  constexpr T kLow = kFloat ? math::Format<T>::kLn2Low : T(0x1.ef35793c76730p-45);
  const Vector<T> m = mantissa(x), k = exponent(x, m);
  const LogLanes<T> log = log_lanes(m);
  const Vector<T> low = log.r + multiply_add(k, splat(kLow), log.rest);
  return log_edges(x, multiply_add(k, splat(kHigh), log.base) + low);
}

// k high + (ln(m) factor + k low): powers of the base come out whole.
template <class T>
inline Vector<T> lane_log_to_base(Vector<T> x, T high, T low_part, T factor) {
  const Vector<T> m = mantissa(x), k = exponent(x, m);
  const LogLanes<T> log = log_lanes(m);
  const Vector<T> sum = sizeof(T) == 4 ? log.r : log.base + log.r;
  const Vector<T> rest = sizeof(T) == 4 ? log.rest : ((log.base - sum) + log.r) + log.rest;
  const Vector<T> low = multiply_add(rest, splat(factor), k * low_part);
  return log_edges(x, multiply_add(k, splat(high), multiply_add(sum, splat(factor), low)));
}

template <class T>
inline Vector<T> lane_log2(Vector<T> x) {
  return lane_log_to_base(x, T(1), T(0), T(0x1.71547652b82fep+0));
}

template <class T>
inline Vector<T> lane_log10(Vector<T> x) {
  constexpr bool kFloat = sizeof(T) == 4;
  constexpr T kHigh = kFloat ? T(0x1.344p-2) : T(0x1.34413509f4000p-2);
  constexpr T kLow = kFloat ? T(0x1.3509f8p-18) : T(0x1.cff7988f8959bp-41);
  return lane_log_to_base(x, kHigh, kLow, T(0x1.bcb7b1526e50ep-2));
}

// ---- roots

// sqrt(x) nearly, with 1 / (2 sqrt(x)) to 28 bits, by Goldschmidt's iteration, and what is left of
// x. x + 2^-200 has a finite estimate at 0.
struct Root {
  VectorF64 value, half_over, left;
};

inline Root near_root(VectorF64 x) {
  const VectorF64 half = splat(0.5), over = _mm512_rsqrt14_pd(x + 0x1p-200);
  VectorF64 g = x * over, h = over * half;
  const VectorF64 first = multiply_add(-g, h, half);
  g = multiply_add(g, first, g);
  h = multiply_add(h, first, h);
  g = multiply_add(g, multiply_add(-g, h, half), g);
  return {g, h, multiply_add(-g, g, x)};
}

}  // namespace
}  // namespace dt::cpu

#endif
