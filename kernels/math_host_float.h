// Functions of math_host_inverse.h for float, on a CPU: formulas of float's own, since half as many
// numbers of double fit in a vector and their polynomials are twice as long. Where a sum of two
// floats is needed the second one is what rounding dropped. Coefficients are as in math_host.h.
#pragma once

namespace dt::math {

constexpr float kHalfPi = 0x1.921fb6p+0f, kHalfPiLow = -0x1.777a5cp-25f;

// turns pi/2 - x, for a small number of turns.
DT_MATH float angle_minus(float turns, float x) {
  return turns * kHalfPi - (x - turns * kHalfPiLow);
}

// ---- tan: r + low is what sin_of_float calls r, with what its rounding dropped

// (tan(r) / r - 1) / r^2 in z = r^2 on |r| <= pi/4 + 0.07, error 2^-27 of tan.
DT_MATH float tan_tail(float z) {
  return polynomial(z, 0.333334029f, 0.133309558f, 0.0542407483f, 0.0204091929f, 0.0129523706f,
                    -0.00242158957f, 0.00553643564f);
}

DT_MATH float tan(float x) {
#ifdef __FMA__
  using F = Format<float>;
  const float shifted = fma(x, 0.63661977f, F::kRounder), n = shifted - F::kRounder;
  const double wide = double(n);
  const double reduced =
      fma(wide, -0x1.10b4611a62633p-30, fma(wide, -0x1.921fb54000000p+0, double(x)));
  const float r = float(reduced), low = float(reduced - double(r)), z = r * r;
  const float near = r + fma(r * z, tan_tail(z), fma(z, low, low));
  const bool odd = (to_bits(shifted) & 1) != 0;
  const float y = (odd ? -1.0f : near) / (odd ? near : 1.0f);
  const float fast = abs(x) <= float(kTrigLimit) ? y : float(kNaN);
  return abs(x) < 0x1p-12f ? x : fast;
#else
  return float(tan(double(x)));
#endif
}

// ---- asin, acos: as those of double

// (asin(x) / x - 1) / x^2 in z = x^2 on |x| <= 1/2, error 2^-27 of asin.
DT_MATH float asin_tail(float z) {
  return polynomial(z, 0.166667521f, 0.0749530941f, 0.0454691499f, 0.0241847783f, 0.0421583056f);
}

// asin of |x| or, beyond 1/2, of r = sqrt((1 - |x|) / 2): root + rest, root being |x| or r.
struct ShortArc {
  float root, rest;
};

DT_MATH ShortArc short_arc(float x) {
  const float a = abs(x);
  const bool beyond = a > 0.5f;
  const float z = beyond ? (1.0f - a) * 0.5f : x * x, root = beyond ? sqrt(z) : a;
  return {root, root * z * asin_tail(z)};
}

DT_MATH float asin(float x) {
  const ShortArc arc = short_arc(x);
  const float twice = arc.root + arc.root, high = kHalfPi - twice;
  const float dropped = (kHalfPi - high) - twice;
  const float far = high + (dropped + (kHalfPiLow - 2.0f * arc.rest));
  return copysign(abs(x) > 0.5f ? far : arc.root + arc.rest, x);
}

DT_MATH float acos(float x) {
  const ShortArc arc = short_arc(x);
  const float angle = arc.root + arc.rest, twice = angle + angle;
  const float near = angle_minus(1.0f, copysign(angle, x));
  const float far = x > 0.0f ? twice : angle_minus(2.0f, twice);
  return abs(x) > 0.5f ? far : near;
}

// ---- atan, atan2: of the smaller number over the larger

// (atan(t) / t - 1) / t^2 in z = t^2 on |t| <= 1, error 2^-28 of atan.
DT_MATH float atan_tail(float z) {
  return polynomial(z, -0.333332986f, 0.19998534f, -0.142641023f, 0.109515063f, -0.0840158165f,
                    0.0579272285f, -0.0311489366f, 0.0108996965f, -0.00179040583f);
}

DT_MATH float atan_of_ratio(float t) {
  const float z = t * t;
  return fma(t * z, atan_tail(z), t);
}

DT_MATH float atan(float x) {
  const float a = abs(x);
  const float angle = atan_of_ratio((a > 1.0f ? 1.0f : a) / (a > 1.0f ? a : 1.0f));
  return copysign(a > 1.0f ? angle_minus(1.0f, angle) : angle, x);
}

// C's values for zeros and infinities.
DT_MATH float atan2(float y, float x) {
  const float a = abs(y), b = abs(x);
  const float smaller = a > b ? b : a, larger = a > b ? a : b;
  const float ratio = smaller / (larger == 0.0f ? 1.0f : larger);
  const float diagonal = larger == float(kInfinity) ? 1.0f : larger;  // or NaN
  const float angle = atan_of_ratio(smaller == float(kInfinity) ? diagonal : ratio);
  const float upright = a > b ? angle_minus(1.0f, angle) : angle;
  return copysign(copysign(1.0f, x) < 0.0f ? angle_minus(2.0f, upright) : upright, y);
}

// ---- atanh

DT_MATH float atanh(float x) {
  return 0.5f * (log1p(x) - log1p(-x));
}

// ---- erfc: of double, whose square of a float is exact, but no more accurate than a float is

// exp(a^2) erfc(a) (1 + 2 a) in t = (a - 3) / (a + 3) on 0 <= a <= 10.1, error 2^-29.
DT_MATH double erfcx_part(double t) {
  return polynomial(t, 1.2530080591221, -0.135621139298648, -0.0475623994409738, 0.129646414526562,
                    -0.119270975367018, 0.068295767251961, -0.0237975297577799, 0.00256737864993098,
                    0.00200181152739483, -0.000777585926929265, -0.000268129034303658);
}

// From 10.1 on it is less than half of the smallest float.
DT_MATH float erfc(float x) {
  const double a = double(at_most(10.1f, abs(x)));
  const double near = a + 3.0, far = 1.0 + 2.0 * a, over = 1.0 / (near * far);
  const double tail = short_exp(-a * a) * erfcx_part((a - 3.0) * far * over) * (near * over);
  return float(x < 0.0f ? 2.0 - tail : tail);
}

// ---- other bases

DT_MATH float exp2(float x) {
  using F = Format<float>;
  const float bounded = clamp(x, -152.0f, 129.0f), shifted = bounded + F::kExpRounder;
  const float r = (bounded - (shifted - F::kExpRounder)) * 0.693147182f;
  return scale(ExpParts<float>{fma(r * r, exp_tail(r), r), to_bits(shifted)});
}

// The logarithm of 1 + f over f, error 2^-26. What is added to it is so much larger, where it is
// not 0, that powers of the base come out whole.
DT_MATH float log2(float x) {
  const LogParts<float> parts = log_parts(x);
  const float slope =
      polynomial(parts.f, 1.44269502f, -0.721347511f, 0.480903685f, -0.360682607f, 0.288309366f,
                 -0.239792302f, 0.208782434f, -0.193209216f, 0.163903683f, -0.0805853605f);
  return log_edges(x, fma(parts.f, slope, parts.k));
}
DT_MATH float log10(float x) {
  const LogParts<float> parts = log_parts(x);
  const float slope =
      polynomial(parts.f, 0.434294492f, -0.217147246f, 0.14476192f, -0.108572334f, 0.0869938806f,
                 -0.0724352226f, 0.0598152466f, -0.0534547158f, 0.0638325736f, -0.0508802943f);
  const float low = fma(parts.f, slope, parts.k * 0x1.3509f8p-18f);
  return log_edges(x, fma(parts.k, 0x1.344p-2f, low));
}

}  // namespace dt::math
