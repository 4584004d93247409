// pow and fmod on a CPU. Included by math_host.h.
#pragma once

namespace dt::math {

// A number as the unevaluated sum of two: about 106 bits.
struct Pair {
  double high, low;
};

// For |a| >= |b| (or a = 0).
DT_MATH Pair fast_sum(double a, double b) {
  const double high = a + b;
  return {high, (a - high) + b};
}

#ifndef __FMA__
// The upper 26 bits of a number, so that products of halves are exact (Veltkamp).
DT_MATH double upper_half(double a) {
  return from_bits(to_bits(a) & 0xfffffffff8000000u);
}
#endif

DT_MATH Pair exact_product(double a, double b) {
  const double high = a * b;
#ifdef __FMA__
  return {high, __builtin_fma(a, b, -high)};
#else
  const double a1 = upper_half(a), a2 = a - a1, b1 = upper_half(b), b2 = b - b1;
  return {high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2};
#endif
}

// ln x to about 2^-65 for x > 0. With s = f / (2 + f), ln(1 + f) = 2 s (1 + z / 3 + z^2 T(z)), z =
// s^2; T's error is 2^-66 of the sum, so it may be computed in one double, z / 3 not.
DT_MATH Pair log_pair(double x) {
  const LogParts<double> parts = log_parts(x);
  const Pair denominator = fast_sum(2.0, parts.f);
  const double s = parts.f / denominator.high;
  const Pair back = exact_product(s, denominator.high);
  const double s_low =
      (((parts.f - back.high) - back.low) - s * denominator.low) / denominator.high;
  const Pair z = exact_product(s, s);
  const double z_low = z.low + 2.0 * s * s_low;
  const double tail =
      z.high * polynomial(z.high, 0.20000000000001128, 0.14285714285050052, 0.1111111125990966,
                          0.0909089218847871, 0.07693378422458604, 0.06628414890713505,
                          0.06598105500357197);
  const Pair factor = fast_sum(0x1.5555555555555p-2, tail);
  const double factor_low = factor.low + 0x1.5555555555555p-56;
  const Pair w = exact_product(z.high, factor.high);
  const double w_low = w.low + (z.high * factor_low + z_low * factor.high);
  const Pair sw = exact_product(s, w.high);
  const Pair sum = fast_sum(2.0 * s, 2.0 * sw.high);
  const double sum_low = sum.low + 2.0 * (sw.low + s * w_low + s_low * (1.0 + w.high));
  const Pair total = fast_sum(parts.k * Format<double>::kLn2High, sum.high);
  const double total_low = total.low + (sum_low + parts.k * Format<double>::kLn2Low);
  return fast_sum(total.high, total_low);
}

// exp(high + low).
DT_MATH double exp_of_pair(Pair x) {
  const ExpParts<double> e =
      exp_parts(clamp(x.high, Format<double>::kLeastExponent, Format<double>::kGreatestExponent));
  return scale(ExpParts<double>{fma(1.0 + e.p, x.low, e.p), e.k_bits});
}

// C's rules for the exceptional arguments of pow; `magnitude` is |x|^y for finite nonzero x and
// finite y.
template <class T>
DT_MATH T pow_edges(T x, T y, T magnitude) {
  const T a = abs(x);
  const bool extreme = (a == T(0)) | (a == T(kInfinity)) | (abs(y) == T(kInfinity));
  const T above = y > T(0) ? T(kInfinity) : T(0), below = y > T(0) ? T(0) : T(kInfinity);
  const T limit = a == T(1) ? T(1) : a > T(1) ? above : below;
  const T result = extreme ? limit : magnitude;
  const bool integer = floor(y) == y;
  const bool odd = integer & (floor(y * T(0.5)) != y * T(0.5));
  const BitsOf<T> sign = odd ? Format<T>::kSign : BitsOf<T>(0);
  const T flipped = from_bits(to_bits(result) | (to_bits(x) & sign));
  const bool undefined = ((x < T(0)) & !integer & !extreme) | (x != x) | (y != y);
  const bool one = (x == T(1)) | (y == T(0));
  return one ? T(1) : undefined ? T(kNaN) : flipped;
}

DT_MATH double pow(double x, double y) {
  const Pair log = log_pair(abs(x));
  const Pair product = exact_product(y, log.high);
  // A product that overflows has an infinite or NaN lower part, which must not spoil exp's own
  // limit.
  const double low = abs(product.high) < 1e4 ? product.low + y * log.low : 0.0;
  return pow_edges(x, y, exp_of_pair({product.high, low}));
}

// (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2, error of e^r 2^-28: of double where a float is wanted.
DT_MATH double short_exp_tail(double r) {
  return polynomial(r, 0.50000000951655, 0.166665188515561, 0.0416662058722661, 0.00836888786224164,
                    0.00139504863216612);
}

// e^x where 2^k cannot leave the range.
DT_MATH double short_exp(double x) {
  const double shifted = fma(x, 1.4426950408889634, Format<double>::kExpRounder);
  const double r = fma(shifted - Format<double>::kExpRounder, -0.6931471805599453, x);
  const double power = power_of_two<double>(to_bits(shifted));
  return fma(fma(r * r, short_exp_tail(r), r), power, power);
}

// (ln(1 + f) - 2 s) / (s z) with s = f / (2 + f) and z = s^2; error 2^-37 of ln(1 + f).
DT_MATH double short_log_tail(double z) {
  return polynomial(z, 0.666666656450489, 0.400003352901602, 0.285373018132478, 0.23582286535166);
}

// In double, where y ln x is exact enough and 2^k cannot leave the range.
DT_MATH float pow(float x, float y) {
  const LogParts<float> parts = log_parts(abs(x));
  const double f = double(parts.f), s = f / (2.0 + f), z = s * s;
  const double log = fma(double(parts.k), 0.6931471805599453, fma(s * z, short_log_tail(z), s + s));
  return pow_edges(x, y, float(short_exp(clamp(double(y) * log, -200.0, 200.0))));
}

// The remainder of truncated division: long division of the mantissas, as many quotient
// bits a step as fit in
// 64. A loop, so no vector code. The largest exponent of T makes it 190 steps (7 for float); close
// operands need one.
template <class T>
DT_MATH T fmod_of(T a, T b) {
  using F = Format<T>;
  const T x = abs(a), y = abs(b);
  if (!(x < T(kInfinity)) || !(y > T(0))) return T(kNaN);
  if (x < y) return a;
  constexpr uint64_t kOne = uint64_t(1) << F::kMantissa;
  const auto exponent = [](T v) {
    const int e = static_cast<int>(to_bits(v) >> F::kMantissa);
    return e > 0 ? e : 1;
  };
  const auto mantissa = [](T v) {
    const uint64_t bits = to_bits(v);
    return (bits & (kOne - 1)) | (bits >> F::kMantissa != 0 ? kOne : 0);
  };
  const uint64_t divisor = mantissa(y);
  uint64_t rest = mantissa(x) % divisor;
  constexpr int kStep = 63 - F::kMantissa;
  for (int shift = exponent(x) - exponent(y); shift > 0 && rest != 0; shift -= kStep) {
    rest = (rest << (shift < kStep ? shift : kStep)) % divisor;
  }
  // rest < divisor in units of y's last place: exact in T, and so is the scaling, subnormal or not.
  const T unit_high = from_bits(static_cast<BitsOf<T>>(exponent(y)) << F::kMantissa);
  return copysign(T(static_cast<int64_t>(rest)) * (unit_high / T(static_cast<int64_t>(kOne))), a);
}

// The fast forms take the truncated quotient's product from the dividend, which is exact as long as
// the quotient is: beyond, they return NaN, and a caller repeats such elements with the exact form,
// as with sin (math_host_trig.h). A quotient of double is rounded, and may be one too large.
DT_MATH float fmod(float a, float b) {
  const double x = double(abs(a)), y = double(abs(b)), quotient = trunc(x / y);
  const double rest = quotient < 0x1p28 ? x - quotient * y : kNaN;
  return copysign(float(x < y ? x : rest), a);
}

DT_MATH double fmod(double a, double b) {
#ifdef __FMA__
  const double x = abs(a), y = abs(b), quotient = trunc(x / y);
  const double rest = quotient < 0x1p52 ? __builtin_fma(-quotient, y, x) : kNaN;
  const double positive = rest < 0.0 ? rest + y : rest;
  return copysign(x < y ? x : positive, a);
#else
  return fmod_of(a, b);
#endif
}

template <class T>
DT_MATH T exact_fmod(T a, T b) {
  return fmod_of(a, b);
}

}  // namespace dt::math
