// sin and cos on a CPU. Included by math_host.h.
//
// The fast forms reduce x by n pi/2 with pi/2 split into parts whose products with n are exact;
// that holds for |x| up to kTrigLimit, beyond which they return NaN. The exact forms, which
// multiply x by as many digits of 2/pi as it takes (Payne and Hanek), are right for every number,
// but are no vector code: a caller of the fast forms repeats the few elements that came out as NaN
// with them (Exact in kernels/cpu/formula_types.h).
#pragma once

namespace dt::math {

constexpr double kTrigLimit = 1048576.0;

// x = quadrant pi/2 + high + low with |high| <= pi/4; only the last two bits of quadrant count.
struct Angle {
  uint64_t quadrant;
  double high, low;
};

// (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4 in z = r^2 on |r| <= pi/4, error 2^-58
// and 2^-64.
DT_MATH double sin_tail(double z) {
  return polynomial(z, -0.16666666666666632, 0.008333333333322316, -0.0001984126982972499,
                    2.7557313661921602e-06, -2.505075323817259e-08, 1.5896503249956407e-10);
}

DT_MATH double cos_tail(double z) {
  return polynomial(z, 0.0416666666666666, -0.001388888888887399, 2.4801587289395014e-05,
                    -2.7557314326049407e-07, 2.087571956024578e-09, -1.1359448711687689e-11);
}

// The sine of the angle plus `turn` right angles. Terms are added from the smallest up; `low`
// enters to first order.
DT_MATH double sin_of_angle(Angle a, uint64_t turn) {
  const double r = a.high, z = r * r;
  const double sine = r + (r * z * sin_tail(z) + fma(z, -0.5 * a.low, a.low));
  const double one_minus = 1.0 - 0.5 * z;
  const double dropped = (1.0 - one_minus) - 0.5 * z;
  const double cosine = one_minus + (dropped + fma(z * z, cos_tail(z), -r * a.low));
  const uint64_t quadrant = a.quadrant + turn;
  const double y = (quadrant & 1) != 0 ? cosine : sine;
  return from_bits(to_bits(y) ^ ((quadrant & 2) << 62));
}

// a - b = value + error exactly.
struct Difference {
  double value, error;
};

DT_MATH Difference exact_difference(double a, double b) {
  const double value = a - b, minus_b = value - a;
  return {value, (a - (value - minus_b)) - (b + minus_b)};
}

// pi/2 in three parts of 33 bits and the rest: n has at most 20 bits. Where a product is not
// rounded before it is taken away, two parts and the rest do: the first difference is exact, and
// what rounding the second part's product and difference drops is kept.
DT_MATH Angle reduce(double x) {
  const double shifted = fma(x, 0x1.45f306dc9c883p-1, Format<double>::kRounder);
  const double n = shifted - Format<double>::kRounder;
#ifdef __FMA__
  constexpr double kSecond = 0x1.1a62633145c07p-54;
  const double near = fma(n, -0x1.921fb54442d18p+0, x), product = n * kSecond;
  const Difference second = exact_difference(near, product);
  const double low = second.error - fma(n, kSecond, -product);
  return {to_bits(shifted), second.value, fma(n, 0x1.f1976b7ed8fbcp-110, low)};
#else
  const double first = x - n * 0x1.921fb54400000p+0;
  const Difference second = exact_difference(first, n * 0x1.0b4611a600000p-34);
  const Difference third = exact_difference(second.value, n * 0x1.3198a2e000000p-69);
  const double rest = (second.error + third.error) - n * 0x1.b839a252049c1p-104;
  const double high = third.value + rest;
  return {to_bits(shifted), high, (third.value - high) + rest};
#endif
}

DT_MATH double sin(double x) {
  const double y = sin_of_angle(reduce(x), 0);
  const double fast = abs(x) <= kTrigLimit ? y : kNaN;
  return abs(x) < 0x1p-27 ? x : fast;
}

DT_MATH double cos(double x) {
  return abs(x) <= kTrigLimit ? sin_of_angle(reduce(x), 1) : kNaN;
}

// ---- float: n may be off by a little of its last bit, so |r| is up to pi/4 + 0.07. The
// polynomials' error is 2^-27 and 2^-32. Where no product is rounded before it is taken away, pi/2
// in three parts of float will do; else the reduction is double, where two parts suffice.

DT_MATH float sin_of_float(float x, uint32_t turn) {
  using F = Format<float>;
  const float shifted = fma(x, 0.63661977f, F::kRounder), n = shifted - F::kRounder;
#ifdef __FMA__
  const float near = fma(n, -0x1.4442d2p-24f, fma(n, -0x1.921fb4p+0f, x));
  const float r = fma(n, 0x1.ee59dap-50f, near);
#else
  const double wide = double(n);
  const float r =
      float(fma(wide, -0x1.10b4611a62633p-30, fma(wide, -0x1.921fb54000000p+0, double(x))));
  const float near = r;
#endif
  const float z = r * r;
  const float sine_tail = polynomial(z, -0.16666648f, 0.008331736f, -0.0001945972f);
  const float sine = copysign(fma(r * z, sine_tail, r), near);  // keeps -0
  const float cosine_tail = polynomial(z, -0.5f, 0.041666634f, -0.0013886776f, 2.4373448e-05f);
  const uint32_t quadrant = to_bits(shifted) + turn;
  const float y = (quadrant & 1) != 0 ? fma(z, cosine_tail, 1.0f) : sine;
  const float fast = abs(x) <= float(kTrigLimit) ? y : float(kNaN);
  return from_bits(to_bits(fast) ^ ((quadrant & 2) << 30));
}

DT_MATH float sin(float x) {
  return sin_of_float(x, 0);
}
DT_MATH float cos(float x) {
  return sin_of_float(x, 1);
}

// ---- exact

// Bits of 2/pi, most significant first, after 64 zeros that stand for larger weights.
constexpr uint64_t kTwoOverPi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

// 64 bits of 2/pi from bit `from` (0 is the first zero).
inline uint64_t two_over_pi(int from) {
  const uint64_t* word = kTwoOverPi + from / 64;
  const int shift = from % 64;
  return shift == 0 ? word[0] : (word[0] << shift) | (word[1] >> (64 - shift));
}

// For finite x >= 2^-8. x 2/pi modulo 4 is the mantissa times a window of 192 bits of 2/pi: higher
// bits give multiples of 4, lower ones less than 2^-137.
inline Angle reduce_exactly(double x) {
  using Wide = unsigned __int128;
  const uint64_t bits = to_bits(x);
  const uint64_t mantissa = (bits & 0x000fffffffffffff) | 0x0010000000000000;
  const int from = static_cast<int>(bits >> 52) - (1023 + 52) - 2 + 64;
  const Wide low = Wide(mantissa) * two_over_pi(from + 128);
  const Wide middle = Wide(mantissa) * two_over_pi(from + 64) + static_cast<uint64_t>(low >> 64);
  const uint64_t top = mantissa * two_over_pi(from) + static_cast<uint64_t>(middle >> 64);
  // Two bits of quadrant, then the fraction; one half or more counts down from the next quadrant.
  Wide fraction = (Wide(top) << 66) | (Wide(static_cast<uint64_t>(middle)) << 2) |
                  (static_cast<uint64_t>(low) >> 62);
  const bool negative = (fraction >> 127) != 0;
  const uint64_t quadrant = (top >> 62) + negative;
  if (negative) fraction = -fraction;
  const uint64_t upper = static_cast<uint64_t>(fraction >> 64);
  const int zeros = upper != 0 ? __builtin_clzll(upper) : 64;
  fraction <<= zeros;
  // 26 bits, whose product with the first 26 bits of pi/2 is exact, and 53 more.
  const uint64_t rest = static_cast<uint64_t>(fraction >> 49) & ((uint64_t(1) << 53) - 1);
  const double unit = from_bits(uint64_t(1023 - zeros) << 52);
  const double a = static_cast<double>(static_cast<int64_t>(fraction >> 102)) * 0x1p-26 * unit;
  const double b = static_cast<double>(static_cast<int64_t>(rest)) * 0x1p-79 * unit;
  const double product = a * 0x1.921fb50000000p+0;
  const double small = a * 0x1.110b4611a6263p-26 + b * 0x1.921fb54442d18p+0;
  const double high = product + small, lower = (product - high) + small;
  return negative ? Angle{quadrant, -high, -lower} : Angle{quadrant, high, lower};
}

inline double sin_exactly(double x, uint64_t turn) {
  if (!(abs(x) < kInfinity)) return kNaN;
  if (abs(x) < 1.0) return turn == 0 ? sin(x) : cos(x);
  const double y = sin_of_angle(reduce_exactly(abs(x)), turn);
  return turn == 0 && x < 0.0 ? -y : y;
}

inline double exact_sin(double x) {
  return sin_exactly(x, 0);
}
inline double exact_cos(double x) {
  return sin_exactly(x, 1);
}
inline float exact_sin(float x) {
  return static_cast<float>(sin_exactly(double(x), 0));
}
inline float exact_cos(float x) {
  return static_cast<float>(sin_exactly(double(x), 1));
}

}  // namespace dt::math
