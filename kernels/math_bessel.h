// Bessel's functions but those of math_special.h, which includes this, and Airy's.
#pragma once

namespace dt::math {

constexpr double kEuler = 0x1.2788cfc6fb619p-1;

#ifdef __CUDACC__
DT_SPECIAL double sine(double x) {
  return sin(x);
}
DT_SPECIAL double cosine(double x) {
  return cos(x);
}
#else
DT_SPECIAL double sine(double x) {
  return exact_sin(x);
}
DT_SPECIAL double cosine(double x) {
  return exact_cos(x);
}
#endif
// The integrands below are not to hold a polynomial each.
DT_SPECIAL double exponential(double x) {
  return exp(x);
}

// ---- the first and the second kind, of order 0 or 1, for x >= 0

// Up to 25: J of all orders by Miller's recurrence, downwards, whose sum J0 + 2 J2 + 2 J4 + ... is
// 1, and Y as Neumann's series of them (Abramowitz and Stegun 9.1.88), or its derivative.
DT_SPECIAL double bessel_near(double x, bool first_order, bool second_kind) {
  const double z = x < 1e-18 ? 1e-18 : x;  // below, J0 is 1 and J1 is x / 2
  double above = 0.0, here = 1.0, sum = 0.0, series = 0.0;
  for (int k = x < 1e-3 ? 8 : 20 + 2 * int(0.8 * x); k > 0; --k) {
    const int half = k / 2;
    const double sign = half % 2 != 0 ? -1.0 : 1.0;
    if (k % 2 == 0) sum += 2.0 * here;
    if (k % 2 == 0 && !first_order) series += sign * here / half;
    if (k % 2 != 0 && k > 1 && first_order) series += sign * here * k / (double(half) * (half + 1));
    const double below = 2.0 * k / z * here - above;
    above = here;
    here = below;
  }
  sum += here;
  const double j0 = here / sum, j1 = above / sum * (x / z);
  if (!second_kind) return first_order ? j1 : j0;
  const double logarithm = log(0.5 * x) + kEuler;
  const double part = first_order ? (logarithm - 1.0) * j1 - j0 / x : logarithm * j0;
  return (part - (first_order ? series : 2.0 * series) / sum) * (2.0 / kPi);
}

// Beyond: Hankel's expansion (9.2.5 to 9.2.10).
DT_SPECIAL double bessel_far(double x, bool first_order, bool second_kind) {
  if (isinf(x)) return 0.0;
  double sums[] = {1.0, 0.0}, term = 1.0;
  for (int k = 1; k < 40 && abs(term) > 0x1p-60; ++k) {
    const double odd = 2.0 * k - 1.0;
    term *= ((first_order ? 4.0 : 0.0) - odd * odd) / (8.0 * k * x);
    sums[k % 2] += k % 4 < 2 ? term : -term;
  }
  const double s = sine(x), c = cosine(x);
  const double across = first_order ? s - c : c + s, up = first_order ? -(s + c) : s - c;
  const double wave =
      second_kind ? sums[0] * up + sums[1] * across : sums[0] * across - sums[1] * up;
  return wave / sqrt(kPi * x);
}

DT_SPECIAL double bessel_jy(double x, bool first_order, bool second_kind) {
  const double a = abs(x), sign = first_order && x < 0.0 ? -1.0 : 1.0;
  if (x != x || (second_kind && x < 0.0)) return kNaN;
  if (second_kind && x == 0.0) return -kInfinity;
  return sign * (a < 25.0 ? bessel_near(a, first_order, second_kind)
                          : bessel_far(a, first_order, second_kind));
}

// ---- the modified ones of the second kind

// Below 1 the power series (9.6.11, 9.6.13). Beyond, exp(x) times the function is the integral of
// exp(-x (cosh(t) - 1)) cosh(order t) over t > 0, which the trapezoidal rule gives to all digits.
DT_SPECIAL double bessel_k(double x, bool first_order, bool scaled) {
  if (!(x > 0.0)) return x == 0.0 ? kInfinity : kNaN;
  if (isinf(x)) return 0.0;
  double sum = 0.0;
  if (x < 1.0) {
    const double logarithm = log(0.5 * x) + kEuler, square = 0.25 * x * x;
    double term = 1.0, harmonic = 0.0;
    for (double k = 0.0; term > 0x1p-60; k += 1.0) {
      const double next = harmonic + 1.0 / (k + 1.0);
      sum += first_order ? term / (k + 1.0) * (logarithm - 0.5 * (harmonic + next))
                         : term * (harmonic - logarithm);
      harmonic = next;
      term *= square / ((k + 1.0) * (k + 1.0));
    }
    if (first_order) sum = 1.0 / x + 0.5 * x * sum;
    return scaled ? sum * exponential(x) : sum;
  }
  const double step = minimum(0.2, 0.63 / sqrt(x));
  double term = 1.0;
  sum = 0.5;
  for (int k = 1; term > 0x1p-60; ++k) {
    const double m = expm1(0.5 * k * step), s = 0.5 * (m + m / (1.0 + m));  // sinh(k step / 2)
    const double square = 2.0 * s * s;
    term = exponential(-x * square) * (first_order ? 1.0 + square : 1.0);
    sum += term;
  }
  return step * sum * (scaled ? 1.0 : exponential(-x));
}

// ---- Airy's function

// Between -2 and 1 its power series. Elsewhere, with z = |x| and turn = 0 for positive x, pi / 6
// for negative ones: exp(-zeta) / pi times the integral of exp(-sqrt(z) exp(i turn) t^2) cos(t^3 /
// 3) over t > 0, zeta = 2/3 z^(3/2), which for negative x is twice the real part at z exp(i pi / 3)
// (9.5.4, and 10.4.7 of Abramowitz and Stegun).
DT_SPECIAL double airy_ai(double x) {
  if (x != x) return kNaN;
  if (x > -2.0 && x < 1.0) {
    const double cube = x * x * x;
    double f = 1.0, g = x, even = 1.0, odd = x;
    for (double k = 3.0; k < 60.0; k += 3.0) {
      f *= cube / (k * (k - 1.0));
      g *= cube / (k * (k + 1.0));
      even += f;
      odd += g;
    }
    return 0.355028053887817239260 * even - 0.258819403792806798405 * odd;
  }
  if (isinf(x)) return 0.0;
  const double z = abs(x), root = sqrt(z), zeta = z * root * (2.0 / 3.0);
  const double real = x < 0.0 ? 0.8660254037844386 * root : root;
  const double imaginary = x < 0.0 ? 0.5 * root : 0.0;
  const double step = minimum(0.15, 0.46 / sqrt(root));
  double across = 0.5, up = 0.0, size = 1.0;  // the integral's two parts
  for (int k = 1; size > 0x1p-60; ++k) {
    const double t = k * step, square = t * t;
    size = exponential(-real * square);
    const double wave = size * cosine(square * t / 3.0);
    across += wave * cosine(imaginary * square);
    up -= wave * sine(imaginary * square);
  }
  if (x > 0.0) return exponential(-zeta) / kPi * step * across;
  // exp(i (pi / 3 - zeta)) times the integral, of which the real part is taken
  const double s = sine(zeta), c = cosine(zeta);
  const double of_across = 0.5 * c + 0.8660254037844386 * s;
  const double of_up = 0.5 * s - 0.8660254037844386 * c;
  return 2.0 / kPi * step * (of_across * across + of_up * up);
}

// ---- all of them, by number, so that one kernel has them all

DT_SPECIAL double bessel(double x, double kind) {
  const int k = int(kind);
  if (k < 4) return bessel_jy(x, k % 2 != 0, k >= 2);
  if (k < 8) return bessel_k(x, k % 2 != 0, k >= 6);
  if (k == 9) return airy_ai(x);
  return x == 0.0 ? 1.0 : isinf(x) ? 0.0 : sine(x) / x;
}

}  // namespace dt::math
