// tan, the inverse trigonometric, the hyperbolic and their inverse functions, and exponentials and
// logarithms to other bases, on a CPU. Included by math_elementwise.h.
//
// Of double; some of float go through these, where a result is right to half a unit, and what is
// called often has formulas of its own (math_host_float.h). Coefficients and tricks are as in
// math_host.h.
#pragma once

namespace dt::math {

constexpr double kPi = 0x1.921fb54442d18p+1, kPiLow = 0x1.1a62633145c07p-53;

// ---- tan: the fast form reaches as far as sin's

// Sine and cosine as sums, so that the quotient has little more than the division's rounding.
DT_MATH double tan_of_angle(Angle a) {
  const double r = a.high, z = r * r;
  const Pair sine = fast_sum(r, r * z * sin_tail(z) + fma(z, -0.5 * a.low, a.low));
  const double one_minus = 1.0 - 0.5 * z, dropped = (1.0 - one_minus) - 0.5 * z;
  const Pair cosine = fast_sum(one_minus, dropped + fma(z * z, cos_tail(z), -r * a.low));
  const bool odd = (a.quadrant & 1) != 0;
  const double over = odd ? -cosine.high : sine.high, over_low = odd ? -cosine.low : sine.low;
  const double under = odd ? sine.high : cosine.high, under_low = odd ? sine.low : cosine.low;
  const double reciprocal = 1.0 / under, ratio = over * reciprocal;
  const Pair back = exact_product(ratio, under);
  const double rest = ((over - back.high) - back.low) + (over_low - ratio * under_low);
  return fma(rest, reciprocal, ratio);
}

DT_MATH double tan(double x) {
  const double fast = abs(x) <= kTrigLimit ? tan_of_angle(reduce(x)) : kNaN;
  return abs(x) < 0x1p-27 ? x : fast;
}

inline double exact_tan(double x) {
  if (!(abs(x) < kInfinity)) return kNaN;
  if (abs(x) < 1.0) return tan(x);
  const double y = tan_of_angle(reduce_exactly(abs(x)));
  return x < 0.0 ? -y : y;
}
inline float exact_tan(float x) {
  return static_cast<float>(exact_tan(double(x)));
}

// ---- asin, acos: up to 1/2, asin(x) = x + x^3 R(x^2); beyond, asin(x) = pi/2 - 2 asin(r) with
// r = sqrt((1 - x) / 2)

// (asin(x) / x - 1) / x^2 in z = x^2 on |x| <= 1/2, error 2^-60 of asin.
DT_MATH double asin_tail(double z) {
  return polynomial(z, 0.16666666666666766, 0.0749999999996941, 0.04464285717597632,
                    0.030381942640667802, 0.02237221692050777, 0.01735157660968738,
                    0.013981252527957483, 0.011395319783319398, 0.010800697122677142,
                    0.003628062442816099, 0.021900725222891104, -0.02127625341427936,
                    0.0328042256369248);
}

// asin of |x| or, beyond 1/2, of r: root + rest, root being |x| or r.
struct Arc {
  double root, rest;
};

DT_MATH Arc arc_of(double x) {
  const double a = abs(x);
  const bool beyond = a > 0.5;
  const double z = beyond ? (1.0 - a) * 0.5 : x * x, root = beyond ? sqrt(z) : a;
  // What the root's rounding dropped: few bits of it matter, so that 1 / (2 root) may be taken from
  // root's exponent and the line through its mantissa.
  const Pair square = exact_product(root, root);
  const double half_over = from_bits(0x7fce6238502484bau - to_bits(root));
  const double dropped = ((z - square.high) - square.low) * half_over;
  return {root, fma(root * z, asin_tail(z), beyond ? dropped : 0.0)};
}

DT_MATH double asin_of_arc(double x, Arc arc) {
  const bool beyond = abs(x) > 0.5;
  const Pair far = fast_sum(0.5 * kPi, -2.0 * arc.root);
  const double large = far.high + (far.low + (0.5 * kPiLow - 2.0 * arc.rest));
  return copysign(beyond ? large : arc.root + arc.rest, x);
}

DT_MATH double acos_of_arc(double x, Arc arc) {
  const bool beyond = abs(x) > 0.5;
  const double part = beyond ? 1.0 : 0.5, times = beyond ? 2.0 : copysign(1.0, x);
  const Pair far = fast_sum(part * kPi, -times * arc.root);
  const double away = far.high + (far.low + (part * kPiLow - times * arc.rest));
  return beyond & (x > 0.0) ? 2.0 * arc.root + 2.0 * arc.rest : away;
}

DT_MATH double asin(double x) {
  return asin_of_arc(x, arc_of(x));
}
DT_MATH double acos(double x) {
  return acos_of_arc(x, arc_of(x));
}

// ---- atan, atan2: y / x is turned by 45 or 90 degrees to at most tan(pi / 8)

// (atan(t) / t - 1) / t^2 in z = t^2 on |t| <= tan(pi / 8), error 2^-59 of atan.
DT_MATH double atan_tail(double z) {
  return polynomial(z, -0.333333333333332, 0.19999999999953766, -0.14285714280215167,
                    0.1111111078439948, -0.09090897784592651, 0.07692060684162005,
                    -0.06663109230870555, 0.05847925595989019, -0.050394609648268585,
                    0.0380683335519786, -0.017911118030870615);
}

// atan(y / x) for x, y >= 0 that are not both 0 or infinite.
DT_MATH double atan_of(double y, double x) {
  const bool steep = y > 2.414213562373095 * x, middle = y > 0.41421356237309503 * x;
  const double over = steep ? -x : middle ? y - x : y, under = steep ? y : middle ? y + x : x;
  const double turn = steep ? 0.5 : middle ? 0.25 : 0.0;
  const double t = over / under, z = t * t;
  const Pair sum = fast_sum(turn * kPi, t);
  return sum.high + fma(t * z, atan_tail(z), sum.low + turn * kPiLow);
}

DT_MATH double atan(double x) {
  return copysign(atan_of(abs(x), 1.0), x);
}

// Large numbers are scaled, since their sum may overflow. C's values for zeros and infinities.
DT_MATH double atan2(double y, double x) {
  const double a = abs(y), b = abs(x);
  const double smaller = a > b ? b : a, larger = a > b ? a : b;
  const double factor = larger > 0x1p1021 ? 0.25 : 1.0;
  const double diagonal = larger == kInfinity ? 1.0 : larger;  // or NaN
  const double over = smaller == kInfinity ? diagonal : a * factor;
  const double under = larger == 0.0 ? 1.0 : b * factor;
  const double angle = atan_of(over, smaller == kInfinity ? 1.0 : under);
  const double turned = copysign(1.0, x) < 0.0 ? kPi - (angle - kPiLow) : angle;
  return copysign(turned, y);
}

// ---- sinh, cosh

// (sinh(x) / x - 1) / x^2 in z = x^2 on |x| <= 1, error 2^-63 of sinh.
DT_MATH double sinh_tail(double z) {
  return polynomial(z, 0.16666666666666669, 0.008333333333333139, 0.0001984126984143768,
                    2.755731915533744e-06, 2.5052123398465796e-08, 1.605724034703374e-10,
                    7.759312078890281e-13);
}

// e^a / 2 for a >= 0, as large as a double can be.
DT_MATH double half_exp(double a) {
  const ExpParts<double> e = exp_parts(at_most(712.0, a));
  return scale(ExpParts<double>{e.p, e.k_bits - 1});
}

DT_MATH double sinh(double x) {
  const double a = abs(x), z = x * x, half = half_exp(a);
  const double small = fma(x * z, sinh_tail(z), x), large = half - 0.25 / half;
  return a < 1.0 ? small : copysign(large, x);
}

DT_MATH double cosh(double x) {
  const double half = half_exp(abs(x));
  return half + 0.25 / half;
}

// ---- asinh, acosh, atanh: logarithms of sums, whose roundings come back as a correction

// ln(u + low) where low is less than u's last place; beyond 2^28 ln(2 x), which is as good.
DT_MATH double log_of_sum(double u, double low, double x) {
  const bool large = x > 0x1p28;
  LogParts<double> parts = log_parts(large ? x : u);
  parts.k = large ? parts.k + 1.0 : parts.k;
  return log_edges(large ? x : u, log_sum(parts, large ? 0.0 : low / u));
}

// ln(1 + a + b) with b = sqrt(1 + a^2) - 1.
DT_MATH double asinh(double x) {
  const double a = abs(x), b = a * a / (1.0 + sqrt(1.0 + a * a));
  const Pair sum = fast_sum(a, b);
  const double u = 1.0 + sum.high, rounded = u - 1.0;
  const double low = ((1.0 - (u - rounded)) + (sum.high - rounded)) + sum.low;
  return copysign(log_of_sum(u, low, a), x);
}

// ln(x + b) with b = sqrt(x^2 - 1).
DT_MATH double acosh(double x) {
  const Pair sum = fast_sum(x, sqrt((x - 1.0) * (x + 1.0)));
  return x < 1.0 ? kNaN : log_of_sum(sum.high, sum.low, x);
}

DT_MATH double atanh(double x) {
  return 0.5 * (log1p(x) - log1p(-x));
}

// ---- other bases

DT_MATH double exp2(double x) {
  using F = Format<double>;
  const double bounded = clamp(x, -1080.0, 1025.0), shifted = bounded + F::kExpRounder;
  const double r = (bounded - (shifted - F::kExpRounder)) * 0.6931471805599453;
  return scale(ExpParts<double>{fma(r * r, exp_tail(r), r), to_bits(shifted)});
}

// k high + (ln(1 + f) factor + k low): powers of the base come out whole. `high` has so few digits
// that its product with k is exact.
DT_MATH double log_to_base(double x, double high, double low, double factor) {
  const LogParts<double> parts = log_parts(x);
  const double rest = fma(log_near_one(parts.f, 0.0), factor, parts.k * low);
  return log_edges(x, fma(parts.k, high, rest));
}

DT_MATH double log2(double x) {
  return log_to_base(x, 1.0, 0.0, 0x1.71547652b82fep+0);
}
DT_MATH double log10(double x) {
  return log_to_base(x, 0x1.34413509f4000p-2, 0x1.cff7988f8959bp-41, 0x1.bcb7b1526e50ep-2);
}

#define DT_THROUGH_DOUBLE(name)    \
  DT_MATH float name(float x) {    \
    return float(name(double(x))); \
  }
DT_THROUGH_DOUBLE(sinh)
DT_THROUGH_DOUBLE(cosh)
DT_THROUGH_DOUBLE(asinh)
DT_THROUGH_DOUBLE(acosh)
#undef DT_THROUGH_DOUBLE

}  // namespace dt::math

#include "kernels/math_host_float.h"
