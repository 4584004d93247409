// The special functions: error functions and their inverses, Gamma and its kin, Bessel's, for every
// backend. Included by math_elementwise.h.
//
// They are double; a float goes through double. Those that loop are no vector code and are not
// inlined, so that each is compiled once. Where a polynomial has no published source, its
// coefficients interpolate the function at Chebyshev's points of the interval that the comment
// names.
#pragma once

#ifdef __CUDACC__
#define DT_SPECIAL __host__ __device__ __noinline__ inline
#else
#define DT_SPECIAL inline __attribute__((noinline))
#endif

namespace dt::math {

constexpr double kTwoOverRootPi = 0x1.20dd750429b6dp+0;

DT_MATH double horner(double, double c) {
  return c;
}

template <class... More>
DT_MATH double horner(double x, double c, More... more) {
  return fma(horner(x, more...), x, c);
}

// ---- erfc, erfcx

// exp(a^2) erfc(a) for a >= 0. (1 + 2 a) times it is a polynomial in t = (a - 4) / (a + 4), which
// is in [-1, 1]: Shepherd and Laframboise, Math. Comp. 36 (1981), 249; error 2^-54.
DT_MATH double erfcx_above_zero(double a) {
  const double t = (a - 4.0) / (a + 4.0);
  const double scaled = horner(
      t, 1.2329951186255526, -0.1396211168405625, 0.015379652102610162, 0.0680970542546862,
      -0.10103906603585294, 0.09373283499865172, -0.06633036582050367, 0.0371675155318432,
      -0.01619773397992426, 0.005031970032548695, -0.0007577737141838885, -0.00019925700412184815,
      0.0001506231178516207, -2.439811794207995e-05, -1.1225140354449658e-05, 5.707239573693257e-06,
      2.980596055322769e-07, -8.218020654813044e-07, 7.111912428010423e-08, 1.0683442926744586e-07,
      -1.6357383982124768e-08, -1.2544825403855518e-08, 1.5712153638319064e-09,
      9.655408225482863e-10);
  return scaled / (1.0 + 2.0 * a);
}

// exp(sign x^2) with all its digits: the square of x's upper half is exact, and what is left of x^2
// is less than 2^-13 wherever the result is a number.
DT_MATH double exp_of_square(double x, double sign) {
  const double upper = double(float(x)), rest = sign * (x - upper) * (x + upper);
  return exp(sign * upper * upper) * horner(rest, 1.0, 1.0, 0.5, 1.0 / 6.0);
}

DT_MATH double erfc(double x) {
  const double a = abs(x), b = a > 28.0 ? 28.0 : a;
  const double tail = exp_of_square(b, -1.0) * erfcx_above_zero(b);
  return x < 0.0 ? 2.0 - tail : tail;
}

DT_SPECIAL double erfcx(double x) {
  if (isinf(x)) return x < 0.0 ? kInfinity : 0.0;
  const double a = abs(x), above = erfcx_above_zero(a);
  return x < 0.0 ? 2.0 * exp_of_square(a > 28.0 ? 28.0 : a, 1.0) - above : above;
}

// ---- the inverses of erf and of the normal distribution function

// y with erfc(y) = p, for 0 < p <= 1/2. The start is within 4.5e-4 (Abramowitz and Stegun 26.2.23),
// and two steps of Halley's, each of the third order, do the rest.
DT_SPECIAL double erfc_inverse(double p) {
  const double t = sqrt(-2.0 * log(0.5 * p));
  const double over = horner(t, 2.515517, 0.802853, 0.010328);
  const double under = horner(t, 1.0, 1.432788, 0.189269, 0.001308);
  double y = (t - over / under) * 0.7071067811865476;
  for (int i = 0; i < 2; ++i) {
    const double step = (p / exp_of_square(y, -1.0) - erfcx_above_zero(y)) / kTwoOverRootPi;
    y -= step / (1.0 + y * step);
  }
  return y;
}

// erfinv(x) / x in x^2 up to 1/4, error 2^-54; beyond, what is left of 1 is exact.
DT_SPECIAL double erfinv(double x) {
  const double a = abs(x);
  if (a <= 0.5) {
    return x * horner(x * x, 0.886226925452758, 0.23201366653465907, 0.1275561753044084,
                      0.08655212936268364, 0.06495961132717862, 0.05173148498700453,
                      0.042832578482160585, 0.036522988083139016, 0.031145242581416724,
                      0.03159332043375326, 0.008446011584224939, 0.07345020539520401,
                      -0.07607360776328573, 0.11314166859159029);
  }
  if (!(a < 1.0)) return a == 1.0 ? copysign(kInfinity, x) : kNaN;
  return copysign(erfc_inverse(1.0 - a), x);
}

// The number that a normal one is below with probability p.
DT_SPECIAL double ndtri(double p) {
  if (!(p > 0.0 && p < 1.0)) {
    return p == 0.0 ? -kInfinity : p == 1.0 ? kInfinity : kNaN;
  }
  constexpr double kRootOfTwo = 1.4142135623730951;
  if (p < 0.25) return -kRootOfTwo * erfc_inverse(2.0 * p);
  if (p > 0.75) return kRootOfTwo * erfc_inverse(2.0 * (1.0 - p));
  return kRootOfTwo * erfinv(2.0 * p - 1.0);
}

// ---- the logarithm of Gamma and its derivatives. Far from 0 there is Stirling's series, whose
// terms are Bernoulli's numbers (Abramowitz and Stegun 6.1.40, 6.3.18); nearer, Gamma(x + 1) = x
// Gamma(x) leads there, and from negative numbers the reflection does.

// Exact; sin(pi x) and cos(pi x) are those of it, but for the sign.
DT_MATH double distance_to_integer(double x) {
  return x - round(x);
}

// log(Gamma(2 + z)) / z on |z| <= 1/2, error 2^-54.
DT_MATH double lgamma_near_two(double z) {
  return horner(z, 0.42278433509846713, 0.3224670334241132, -0.06735230105319563,
                0.02058080842778338, -0.007385551028935545, 0.002890510330865901,
                -0.0011927539009983087, 0.0005096695196526673, -0.00022315497746292723,
                9.945761692157133e-05, -4.4923727564247656e-05, 2.050601970174762e-05,
                -9.45628851510172e-06, 4.3828545383846665e-06, -1.9743106888421067e-06,
                9.242852225162277e-07, -5.811277768921246e-07, 2.7475390051909663e-07);
}

DT_SPECIAL double lgamma(double x) {
  if (isinf(x)) return kInfinity;
  double reflected = 0.0;
  if (x <= 0.0) {
    const double distance = distance_to_integer(x);
    if (distance == 0.0) return kInfinity;
    reflected = log(abs(sin(kPi * distance)) / kPi);
  }
  double y = x <= 0.0 ? 1.0 - x : x, product = 1.0;
  if (y < 10.0) {
    const bool above = y > 2.0;
    while (y > 2.5) y -= 1.0, product *= y;
    while (y < 0.5) product *= y, y += 1.0;
    const double z = y < 1.5 ? y - 1.0 : y - 2.0;  // y + 1 would be rounded
    product *= y < 1.5 ? y : 1.0;
    const double log_product = log(product);
    y = z * lgamma_near_two(z) + (above ? log_product : -log_product);
  } else {
    const double z = 1.0 / (y * y);
    const double rest = horner(z, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188,
                               -691.0 / 360360, 1.0 / 156);
    y = (y - 0.5) * (log(y) - 1.0) + (0.4189385332046728 + rest / y);
  }
  return x <= 0.0 ? -reflected - y : y;
}

// At a pole: infinite beside zeros, whose sign says from where they are seen; else undefined.
DT_SPECIAL double digamma(double x) {
  if (x == 0.0) return copysign(kInfinity, -x);
  double y = 0.0;
  if (x < 0.0) {
    const double distance = distance_to_integer(x);
    if (distance == 0.0 || isinf(x)) return kNaN;
    const double angle = kPi * distance;
    y = -kPi * cos(angle) / sin(angle);
    x = 1.0 - x;
  }
  while (x < 10.0) y -= 1.0 / x, x += 1.0;
  const double z = 1.0 / (x * x);
  const double rest = z * horner(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132,
                                 -691.0 / 32760, 1.0 / 12);
  return y + (log(x) - (0.5 / x + rest));
}

// sum over k >= 0 of 1 / (q + k)^s for s > 1, q > 0: some terms, and the rest by Euler and
// Maclaurin's formula (Abramowitz and Stegun 23.1.30).
DT_SPECIAL double zeta_above_zero(double s, double q) {
  double sum = 0.0, last = 0.0;
  for (int k = 0;; ++k, q += 1.0) {
    last = pow(q, -s);
    if (k >= 10 && q >= 10.0) break;
    sum += last;
    if (last < 0x1p-60 * sum) return sum;
  }
  sum += last * (q / (s - 1.0) + 0.5);
  // B_2 / 2!, B_4 / 4!, ...
  const double bernoulli[] = {1.0 / 12,
                              -1.0 / 720,
                              1.0 / 30240,
                              -1.0 / 1209600,
                              1.0 / 47900160,
                              -691.0 / 1307674368000.0,
                              1.0 / 74724249600.0,
                              -3617.0 / 10670622842880000.0};
  double factor = s * last / q;
  for (int k = 0; k < 8; ++k) {
    sum += bernoulli[k] * factor;
    factor *= (s + (2 * k + 1)) * (s + (2 * k + 2)) / (q * q);
  }
  return sum;
}

// Hurwitz's zeta function. Of a negative q and an integer s: the sum over all integers, which is
// the same for q and its fraction, less what comes before q.
DT_SPECIAL double zeta(double s, double q) {
  if (s == 1.0) return kInfinity;
  if (!(s > 1.0) || q != q) return kNaN;
  if (q > 0.0) return isinf(q) ? 0.0 : zeta_above_zero(s, q);
  const double distance = distance_to_integer(q);
  if (distance == 0.0) return kInfinity;
  if (s != floor(s) || isinf(q)) return kNaN;
  const double above = distance > 0.0 ? distance : 1.0 + distance;
  const double below = distance > 0.0 ? 1.0 - distance : -distance;
  const double from_above = zeta_above_zero(s, above), from_below = zeta_above_zero(s, below);
  const double before = zeta_above_zero(s, 1.0 - q);
  if (s == 2.0 * floor(0.5 * s)) return from_above + (from_below - before);
  // Halfway between two poles those cancel, and what is left may be very small beside them.
  return (from_above - from_below) + before;
}

// ---- modified Bessel functions of the first kind

// I_order(x) for order 0 or 1, times exp(-|x|) if scaled: up to 20 the power series, whose terms
// are positive, then Hankel's expansion (Abramowitz and Stegun 9.6.10, 9.7.1).
DT_SPECIAL double bessel_i(double x, double order, double scaled) {
  const double a = abs(x), sign = order != 0.0 ? copysign(1.0, x) : 1.0;
  double sum = 1.0, term = 1.0;
  if (a < 20.0) {
    const double square = 0.25 * a * a;
    for (double k = 1.0; term > 0x1p-60 * sum; k += 1.0) {
      term *= square / (k * (k + order));
      sum += term;
    }
    sum *= order != 0.0 ? 0.5 * a : 1.0;
    return sign * (scaled != 0.0 ? sum * exp(-a) : sum);
  }
  if (isinf(a)) return scaled != 0.0 ? 0.0 * sign : sign * kInfinity;
  for (double k = 1.0; abs(term) > 0x1p-60 && k < 40.0; k += 1.0) {
    const double odd = 2.0 * k - 1.0;
    term *= (odd * odd - 4.0 * order * order) / (8.0 * k * a);
    sum += term;
  }
  sum *= sign / sqrt(2.0 * kPi * a);
  if (scaled != 0.0) return sum;
  const double root = exp(0.5 * a);  // exp(a) may overflow where the function does not
  return sum * root * root;
}

}  // namespace dt::math

#include "kernels/math_bessel.h"
#include "kernels/math_gamma.h"

namespace dt::math {

// ---- through double

#define DT_THROUGH_DOUBLE(name)    \
  DT_MATH float name(float x) {    \
    return float(name(double(x))); \
  }
#if defined(__CUDA_ARCH__) || defined(__CUDACC_RTC__)
DT_THROUGH_DOUBLE(erfc)
#endif
DT_THROUGH_DOUBLE(erfcx)
DT_THROUGH_DOUBLE(erfinv)
DT_THROUGH_DOUBLE(ndtri)
DT_THROUGH_DOUBLE(lgamma)
DT_THROUGH_DOUBLE(digamma)
#undef DT_THROUGH_DOUBLE

DT_MATH float zeta(float s, float q) {
  return float(zeta(double(s), double(q)));
}
DT_MATH float bessel(float x, float kind) {
  return float(bessel(double(x), double(kind)));
}
DT_MATH float gamma_part(float a, float x, float upper) {
  return float(gamma_part(double(a), double(x), double(upper)));
}
DT_MATH float orthogonal_polynomial(float x, float n, float family) {
  return float(orthogonal_polynomial(double(x), double(n), double(family)));
}
DT_MATH float bessel_i(float x, float order, float scaled) {
  return float(bessel_i(double(x), double(order), double(scaled)));
}

}  // namespace dt::math

#undef DT_SPECIAL
