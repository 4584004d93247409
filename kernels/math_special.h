// The special functions: error functions and their inverses, Gamma and its kin, Bessel's, for every
// backend. Included by math_elementwise.h.
//
// They are double; most of float go through double. Those that loop are no vector code and are not
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

// (1 + 2 a) exp(a^2) erfc(a) for a >= 0 is a polynomial in t = (a - 4) / (a + 4), which is in [-1,
// 1]: Shepherd and Laframboise, Math. Comp. 36 (1981), 249; error 2^-54.
DT_MATH double erfcx_numerator(double t) {
  return horner(t, 1.2329951186255526, -0.1396211168405625, 0.015379652102610162,
                0.0680970542546862, -0.10103906603585294, 0.09373283499865172, -0.06633036582050367,
                0.0371675155318432, -0.01619773397992426, 0.005031970032548695,
                -0.0007577737141838885, -0.00019925700412184815, 0.0001506231178516207,
                -2.439811794207995e-05, -1.1225140354449658e-05, 5.707239573693257e-06,
                2.980596055322769e-07, -8.218020654813044e-07, 7.111912428010423e-08,
                1.0683442926744586e-07, -1.6357383982124768e-08, -1.2544825403855518e-08,
                1.5712153638319064e-09, 9.655408225482863e-10);
}

DT_MATH double erfcx_above_zero(double a) {
  return erfcx_numerator((a - 4.0) / (a + 4.0)) / (1.0 + 2.0 * a);
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

// A quotient, before it is divided.
struct Ratio {
  double over, under;
};

// erfinv(x) / x in u = 0.85^2 - x^2 for |x| <= 0.85, error 2^-56.
DT_MATH Ratio erfinv_near(double u) {
  return {horner(u, 1.1975323115670913, 12.561689374252666, 50.577484855977914, 98.42011342868685,
                 95.85037452507777, 43.75442526847343, 7.690154750227805, 0.28264873941980356,
                 -0.003009043377062468),
          horner(u, 1.0, 11.240959761527339, 49.301625501516114, 106.98430882200242,
                 120.40005079926102, 67.38763837408311, 16.32524743592215, 1.193932484443449)};
}

// y with erfc(y) = exp(-(1.375 + s)^2) up to s = 3.625, and with erfc(y) = exp(-(5 + s)^2) up to
// s = 22.4; error 2^-57 and 2^-56.
DT_MATH Ratio erfc_inverse_near(double s) {
  return {horner(s, 1.0154672744298159, 3.5512871491384894, 5.286061843980738, 4.341176386361894,
                 2.1241128032084347, 0.6218723494181287, 0.10361777332448122, 0.008703116638278241,
                 0.0002688076547761888),
          horner(s, 1.0, 2.481047503860814, 2.6473859839645404, 1.5338616615360172,
                 0.5078143763766869, 0.09279194267535276, 0.008336501168166617,
                 0.00026877039482579867, 3.885605102016368e-10)};
}

DT_MATH Ratio erfc_inverse_far(double s) {
  return {horner(s, 4.779384858633335, 4.490222054010712, 1.7458323575851513, 0.36244203753582266,
                 0.04323655465594206, 0.002969242570226388, 0.00011123722410770435,
                 1.9933109169446787e-06, 1.2339133617057144e-08),
          horner(s, 1.0, 0.7251145220297502, 0.21046241742696142, 0.03109827415959091,
                 0.002465809989485308, 0.00010161849349363199, 1.9316407511154946e-06,
                 1.2339075887055492e-08, 1.0857579832409449e-16)};
}

// erfinv(x), where `rest` is 1 - |x| with all its digits.
DT_MATH double erfinv_of(double x, double rest) {
  const double a = abs(x), root = sqrt(-log(rest));
  const bool tail = a > 0.85, far = root > 5.0;
  const Ratio near = erfinv_near(0.7225 - x * x), far_tail = erfc_inverse_far(root - 5.0);
  const Ratio near_tail = erfc_inverse_near(root - 1.375);
  const double over = far ? far_tail.over : near_tail.over;
  const double under = far ? far_tail.under : near_tail.under;
  const double ratio = (tail ? over : a * near.over) / (tail ? under : near.under);
  return copysign(rest == 0.0 ? kInfinity : ratio, x);
}

DT_MATH double erfinv(double x) {
  return erfinv_of(x, 1.0 - abs(x));
}

// The number that a normal one is below with probability p.
DT_MATH double ndtri(double p) {
  return 1.4142135623730951 * erfinv_of(2.0 * p - 1.0, 2.0 * minimum(p, 1.0 - p));
}

// erfinv of float: w = -log(1 - x^2) reaches 16.7. erfinv(x) / x is a quotient of polynomials in w,
// error 2^-27, which are double for the sake of the last place.
DT_MATH double erfinv_over(double w) {
  return horner(w, 0.8862269253469576, 0.3130763566189298, 0.06264891047325043,
                0.008455127698597242, 0.0007443294174411837, 3.50426049223864e-05,
                8.414582089702708e-08);
}
DT_MATH double erfinv_under(double w) {
  return horner(w, 1.0, 0.09146944480383534, 0.033713087491163626, 0.002157254729315749,
                0.00022141249029419567, 2.7961123283933253e-06);
}

DT_MATH float erfinv(float x) {
  const float a = abs(x), t = (1.0f - a) * (1.0f + a);
  const double w = -double(log(t)), under = erfinv_under(w);
  const double start = double(1.0f / float(under)), reciprocal = start * (2.0 - under * start);
  const float y = float(double(x) * erfinv_over(w) * reciprocal);
  return t == 0.0f ? copysign(float(kInfinity), x) : y;
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

// sin(pi d) / d and cos(pi d) / (1 - 4 d^2) in z = d^2 up to 1/4, error 2^-60.
DT_MATH double sine_of_turn(double z) {
  return horner(z, 3.141592653589793, -5.167712780049969, 2.5501640398773007, -0.5992645293189447,
                0.0821458865731029, -0.007370430505916944, 0.0004662998161898394,
                -2.1903497074626018e-05, 7.697826768224191e-07);
}
DT_MATH double cosine_of_turn(double z) {
  return horner(z, 1.0, -0.9348022005446793, 0.3195033242380492, -0.05724947190231324,
                0.006332742747862203, -0.00047592037539358493, 2.589262194384223e-05,
                -1.0666850970497326e-06, 3.3478866930384306e-08);
}

// y (y + 1) ... (y + terms - 1), and its derivative.
struct RisingProduct {
  double value, slope;
};

template <int terms>
DT_MATH RisingProduct rising_product(double y) {
  if constexpr (terms == 1) {
    return {y, 1.0};
  } else {
    const RisingProduct p = rising_product<terms - 1>(y);
    const double last = y + double(terms - 1);
    return {p.value * last, fma(p.slope, last, p.value)};
  }
}

#if defined(__CUDA_ARCH__) || defined(__CUDACC_RTC__)
// 1 / Gamma(1 + d) on |d| <= 1/2, error 2^-56.
DT_MATH double inverse_gamma_near_one(double d) {
  return horner(d, 1.0, 0.5772156649015329, -0.6558780715202527, -0.042002635034095515,
                0.16653861138218928, -0.04219773455552084, -0.009621971524607897,
                0.007218943245911072, -0.0011651676431973738, -0.00021524166229467653,
                0.00012805072001014693, -2.01349556850396e-05, -1.2525583573659133e-06,
                1.1335045480626792e-06, -2.0057089361510917e-07, 4.939580133523849e-09);
}

// Between poles, where |Gamma(x)| passes 1 on either side: 1 / |Gamma(x)| is a product, in double,
// so that its logarithm has its digits there. Apart, so that what is rare takes no registers of the
// rest.
DT_SPECIAL float lgamma_beside_zeros(float x) {
  const double y = -double(x), distance = distance_to_integer(double(x));
  double product = abs(distance) * inverse_gamma_near_one(distance);
  for (double factor = 1.0 - distance; factor <= y; factor += 1.0) product *= factor;
  const float rough = float(product);
  const float rest = float(product - double(rough)) / rough;
  return distance == 0.0 ? float(kInfinity) : -(log(rough) + rest);
}

// CUDA's, but where it has lost its digits: from the first zero, at -2.46, on to where no float is
// near enough to one.
DT_MATH float lgamma(float x) {
  return x < -2.25f && x > -10.5f ? lgamma_beside_zeros(x) : ::lgammaf(x);
}
#else
// Of float: in double, whose digits suffice beside the zeros without a series of their own, and
// without a loop.
DT_MATH float lgamma(float x) {
  const double wide = double(x), distance = distance_to_integer(wide);
  const bool reflected = wide <= 0.0;
  const double y = reflected ? 1.0 - wide : wide;
  const bool near = y < 7.0;
  const double shifted = near ? y + 7.0 : y, square = shifted * shifted;
  const double product = near ? rising_product<7>(y).value : 1.0;
  // Two quotients by one division.
  const double sine = reflected ? abs(distance * sine_of_turn(distance * distance)) : kPi;
  const double both = 1.0 / (square * sine), z = both * sine;
  const double rest = horner(z, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188,
                             -691.0 / 360360, 1.0 / 156, -3617.0 / 122400, 43867.0 / 244188);
  const double far =
      (shifted - 0.5) * (log(shifted) - 1.0) + fma(shifted * z, rest, 0.4189385332046728);
  const double value = far - log(kPi * (both * square) * product);
  const double exact = (wide - 1.0) * (wide - 2.0) == 0.0 ? 0.0 : value;
  const double result = reflected ? -value : exact;
  return float(sine == 0.0 ? kInfinity : abs(wide) == kInfinity ? kInfinity : result);
}
#endif

// At a pole: infinite beside zeros, whose sign says from where they are seen; else undefined.
DT_MATH double digamma(double x) {
  const double distance = distance_to_integer(x), square = distance * distance;
  const bool reflected = x < 0.0;
  const double y = reflected ? 1.0 - x : x;
  const bool near = y < 10.0;
  const double shifted = near ? y + 10.0 : y, over = 1.0 / shifted, z = over * over;
  const double rest =
      horner(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
  const double far = log(shifted) - fma(z, rest, 0.5 * over);
  const RisingProduct product = rising_product<10>(y);
  const double steps = near ? product.slope / product.value : 0.0;
  const double turn =
      kPi * (1.0 - 4.0 * square) * cosine_of_turn(square) / (distance * sine_of_turn(square));
  const double value = far - steps - (reflected ? turn : 0.0);
  const double at_pole = x == 0.0 ? copysign(kInfinity, -x) : kNaN;
  return (distance == 0.0) & (x <= 0.0) ? at_pole : value;
}

// digamma's derivative: ten terms of the sum of 1 / (x + k)^2, two of them by one division, and the
// rest by its asymptotic series.
DT_MATH double trigamma(double x) {
  const double distance = distance_to_integer(x);
  const bool reflected = x < 0.0;
  const double y = reflected ? 1.0 - x : x;
  const bool near = y < 10.0;
  const double shifted = near ? y + 10.0 : y, over = 1.0 / shifted, z = over * over;
  const double rest = horner(z, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730,
                             7.0 / 6, -3617.0 / 510);
  const double far = over + z * fma(over, rest, 0.5);
  const double both = y + (y + 9.0), square = both * both;
  double steps = 0.0;
  for (int k = 0; k < 5; ++k) {
    const double over_product = 1.0 / fma(y, y + 9.0, double(k * (9 - k)));
    steps += over_product * fma(square, over_product, -2.0);
  }
  const double sum = near ? steps + far : far;
  const double turn = kPi / (distance * sine_of_turn(distance * distance));
  return reflected ? turn * turn - sum : sum;
}

// sum over k >= 0 of 1 / (q + k)^s for s > 1, q > 0: some terms, and the rest by Euler and
// Maclaurin's formula (Abramowitz and Stegun 23.1.30).
DT_SPECIAL double zeta_above_zero(double s, double q) {
  double sum = 0.0, last = 0.0;
  for (int k = 0;; ++k, q += 1.0) {
    last = pow(q, -s);
    if (k >= 10 && q >= 10.0) break;
    sum += last;
    if (last <= 0x1p-60 * sum) return sum;
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
  if (distance == 0.0 || isinf(q)) return kInfinity;
  if (s != floor(s)) return kNaN;
  const double above = distance > 0.0 ? distance : 1.0 + distance;
  const double below = distance > 0.0 ? 1.0 - distance : -distance;
  const double from_above = zeta_above_zero(s, above), from_below = zeta_above_zero(s, below);
  const double before = zeta_above_zero(s, 1.0 - q);
  if (s == 2.0 * floor(0.5 * s)) return from_above + (from_below - before);
  // Halfway between two poles those cancel, and what is left may be very small beside them.
  return (from_above - from_below) + before;
}

#if defined(__CUDA_ARCH__) || defined(__CUDACC_RTC__)
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
#endif

}  // namespace dt::math

#if !defined(__CUDA_ARCH__) && !defined(__CUDACC_RTC__)
#include "kernels/math_host_bessel.h"
#endif
#include "kernels/math_bessel.h"
#include "kernels/math_gamma.h"
#include "kernels/math_gamma_float.h"

namespace dt::math {

// ---- through double

#define DT_THROUGH_DOUBLE(name)    \
  DT_MATH float name(float x) {    \
    return float(name(double(x))); \
  }
#if defined(__CUDA_ARCH__) || defined(__CUDACC_RTC__)
DT_THROUGH_DOUBLE(erfc)
#else
DT_THROUGH_DOUBLE(digamma)
DT_THROUGH_DOUBLE(trigamma)
#endif
DT_THROUGH_DOUBLE(erfcx)
DT_THROUGH_DOUBLE(ndtri)
#undef DT_THROUGH_DOUBLE

#if defined(__CUDA_ARCH__) || defined(__CUDACC_RTC__)
DT_MATH float digamma(float x) {
  return x > 0.0f ? digamma_above_zero(x) : float(digamma(double(x)));
}
DT_MATH float trigamma(float x) {
  return x > 0.0f ? trigamma_above_zero(x) : float(trigamma(double(x)));
}
#endif

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
#if defined(__CUDA_ARCH__) || defined(__CUDACC_RTC__)
DT_MATH float bessel_i(float x, float order, float scaled) {
  return float(bessel_i(double(x), double(order), double(scaled)));
}
#endif

}  // namespace dt::math

#undef DT_SPECIAL
