// The incomplete Gamma functions, and the polynomials of Chebyshev, Hermite, Laguerre and Legendre.
// Included by math_special.h.
#pragma once

namespace dt::math {

// ---- the incomplete Gamma functions: P(a, x) and Q(a, x) = 1 - P(a, x) (Abramowitz and
// Stegun 6.5)

// log(Gamma(1 + a)) of small a, without rounding 1 + a.
DT_SPECIAL double lgamma_of_one_and(double a) {
  return abs(a) <= 0.5 ? a * lgamma_near_two(a) - log1p(a) : lgamma(1.0 + a);
}

// r - log(1 + r) for 1 + r = x / a, without the cancellation near 0.
DT_SPECIAL double less_logarithm(double a, double x) {
  const double r = (x - a) / a;
  if (abs(r) > 0.3) return r - log(x / a);
  const double y = r / (2.0 + r), square = y * y;
  double sum = 0.0;
  for (double k = 23.0; k > 2.0; k -= 2.0) sum = sum * square + 1.0 / k;
  return r * y - 2.0 * y * square * sum;
}

// x^a exp(-x) / Gamma(1 + a); of large a by Stirling's series.
DT_SPECIAL double gamma_density(double a, double x) {
  if (a < 20.0) return exp(a * log(x) - x - lgamma_of_one_and(a));
  const double z = 1.0 / (a * a);
  const double rest = horner(z, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188) / a;
  return exp(-a * less_logarithm(a, x) - rest) / sqrt(2.0 * kPi * a);
}

// Q for a >= 2000 and x within a tenth of it: Temme's uniform expansion (SIAM J. Math. Anal. 10
// (1979), 757). The polynomials are those of its coefficients in eta.
DT_SPECIAL double gamma_upper_of_large(double a, double x, bool upper) {
  const double half_square = less_logarithm(a, x), z = 1.0 / a;
  const double eta = copysign(sqrt(2.0 * half_square), x - a);
  const double c0 = horner(eta, -1.0 / 3, 1.0 / 12, -2.0 / 135, 0.0011574074074074073,
                           0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05,
                           -2.185448510679992e-06, -1.85406221071516e-06, 8.296711340953087e-07);
  const double c1 = horner(eta, -0.001851851851851852, -0.003472222222222222, 0.0026455026455026454,
                           -0.0009902263374485596, 0.00020576131687242798, -4.018775720164609e-07);
  const double c2 =
      horner(eta, 0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049);
  const double part = exp(-a * half_square) / sqrt(2.0 * kPi * a) * horner(z, c0, c1, c2);
  const double normal = 0.5 * erfc((upper ? eta : -eta) * sqrt(0.5 * a));
  return upper ? normal + part : normal - part;
}

// P by its power series: x^a exp(-x) / Gamma(1 + a) (1 + x / (a + 1) + ...).
DT_SPECIAL double gamma_lower_series(double a, double x) {
  double term = 1.0, sum = 1.0;
  for (double k = a + 1.0; term > 0x1p-56 * sum; k += 1.0) {
    term *= x / k;
    sum += term;
  }
  return gamma_density(a, x) * sum;
}

// Q of a small x: 1 - P, where what is near 1 is taken away from 1 first.
DT_SPECIAL double gamma_upper_series(double a, double x) {
  double term = 1.0, sum = 0.0;
  for (double k = 1.0; abs(term) > 0x1p-60; k += 1.0) {
    term *= -x / k;
    sum += term / (a + k);
  }
  const double logarithm = a * log(x) - lgamma_of_one_and(a);
  return -expm1(logarithm) - exp(logarithm) * a * sum;
}

// Q by Legendre's continued fraction (6.5.31), from the front.
DT_SPECIAL double gamma_upper_fraction(double a, double x) {
  double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, fraction = d;
  for (double k = 1.0; k < 100000.0; k += 1.0) {
    const double numerator = -k * (k - a);
    b += 2.0;
    d = 1.0 / (b + numerator * d);
    c = b + numerator / c;
    const double factor = c * d;
    fraction *= factor;
    if (abs(factor - 1.0) < 0x1p-52) break;
  }
  return gamma_density(a, x) * a * fraction;
}

DT_SPECIAL double gamma_part(double a, double x, double upper) {
  const bool is_upper = upper != 0.0;
  if (!(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0) || (isinf(a) && isinf(x))) return kNaN;
  if (a == 0.0 || isinf(x)) return is_upper ? 0.0 : 1.0;
  if (x == 0.0 || isinf(a)) return is_upper ? 1.0 : 0.0;
  if (a >= 2000.0 && abs(x - a) < 0.1 * a) return gamma_upper_of_large(a, x, is_upper);
  if (x <= 1.1 && (x <= 0.5 ? -0.4 / log(x) : x / 1.1) >= a) {
    const double q = gamma_upper_series(a, x);
    return is_upper ? q : 1.0 - q;
  }
  if (x <= 1.0 || x <= a) {
    const double p = gamma_lower_series(a, x);
    return is_upper ? 1.0 - p : p;
  }
  const double q = gamma_upper_fraction(a, x);
  return is_upper ? q : 1.0 - q;
}

// ---- polynomials, by their recurrences

// Chebyshev's of four kinds; for 4 + kind those of 2 x - 1; Hermite's H and He, Laguerre's,
// Legendre's.
enum Polynomial { kShifted = 4, kHermite = 8, kHermiteE, kLaguerre, kLegendre };

// At 1 and -1, and between them for many degrees, Chebyshev's have closed forms.
DT_SPECIAL double chebyshev(double x, double n, int kind) {
  const bool is_odd = n != 2.0 * floor(0.5 * n);
  const double sign = x < 0.0 && is_odd ? -1.0 : 1.0;
  if (abs(x) == 1.0) {
    const bool grows = kind == 1 || (kind == 2 && x < 0.0) || (kind == 3 && x > 0.0);
    return grows ? sign * (kind == 1 ? n + 1.0 : 2.0 * n + 1.0) : sign;
  }
  if (n > 8.0 && abs(x) < 1.0) {
    const double angle = acos(x);
    if (kind == 0) return cosine(n * angle);
    if (kind == 1) return sine((n + 1.0) * angle) / sine(angle);
    if (kind == 2) return cosine((n + 0.5) * angle) / cosine(0.5 * angle);
    return sine((n + 0.5) * angle) / sine(0.5 * angle);
  }
  const double first = (kind == 0 ? x : 2.0 * x) + (kind == 2 ? -1.0 : kind == 3 ? 1.0 : 0.0);
  double before = 1.0, p = first;
  for (double k = 1.0; k < n && p == p; k += 1.0) {  // outside of them p soon is no number
    const double next = 2.0 * x * p - before;
    before = p;
    p = next;
  }
  return p;
}

// n counts down to a whole number; below 0 there is the polynomial 0.
DT_SPECIAL double orthogonal_polynomial(double x, double n, double family) {
  const int f = int(family);
  n = trunc(n);
  if (n != n) return kNaN;
  if (n < 0.0) return 0.0;
  if (n == 0.0) return 1.0;
  if (f < kHermite) return chebyshev(f < kShifted ? x : 2.0 * x - 1.0, n, f % kShifted);
  // What a double cannot hold, or nobody waits for.
  if (n > (f < kLaguerre ? 512.0 : 0x1p40)) return kNaN;
  double before = 1.0, p = f == kHermite ? 2.0 * x : f == kLaguerre ? 1.0 - x : x;
  for (double k = 1.0; k < n && p == p; k += 1.0) {
    double next = 0.0;
    if (f == kHermite)
      next = 2.0 * (x * p - k * before);
    else if (f == kHermiteE)
      next = x * p - k * before;
    else if (f == kLaguerre)
      next = ((2.0 * k + 1.0 - x) * p - k * before) / (k + 1.0);
    else
      next = ((2.0 * k + 1.0) * x * p - k * before) / (k + 1.0);
    before = p;
    p = next;
  }
  return p;
}

}  // namespace dt::math
