// Random counts for every backend: Poisson's and the binomial distribution. An element has uniform
// numbers of its own, whose blocks are those of its counter with the attempt above it, so that it
// may reject as often as it must.
#pragma once

#include "kernels/math_elementwise.h"
#include "kernels/philox.h"

namespace dt::philox {

#ifdef __CUDACC__
#define DT_COUNTS __host__ __device__ __noinline__ inline
#else
#define DT_COUNTS inline __attribute__((noinline))
#endif

struct Uniforms {
  uint64_t counter, seed, attempt;

  // Two uniform numbers in [0, 1).
  DT_MATH Pair<double> next() {
    const Block b = block(counter, attempt++, seed);
    return {uniform(b.word[0] | uint64_t(b.word[1]) << 32),
            uniform(b.word[2] | uint64_t(b.word[3]) << 32)};
  }
};

// How many of the probabilities p(0), p(1), ... a uniform number exceeds; p(k + 1) = p(k) ratio(k).
template <class Ratio>
DT_MATH double count_up(double u, double p, double limit, Ratio ratio) {
  double k = 0.0;
  while (u >= p && k < limit) {
    u -= p;
    p *= ratio(k);
    k += 1.0;
  }
  return k;
}

// W. Hoermann, "The transformed rejection method for generating Poisson random variables",
// Insurance: Mathematics and Economics 12 (1993), 39: algorithm PTRS.
DT_COUNTS double poisson(double rate, Uniforms numbers) {
  if (!(rate > 0.0)) return rate == 0.0 ? 0.0 : math::kNaN;
  if (math::isinf(rate)) return math::kInfinity;
  if (rate < 10.0) {
    return count_up(numbers.next().first, math::exp(-rate), 200.0,
                    [=](double k) { return rate / (k + 1.0); });
  }
  const double b = 0.931 + 2.53 * math::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2.0);
  const double log_rate = math::log(rate);
  for (;;) {
    const Pair<double> uniforms = numbers.next();
    const double u = uniforms.first - 0.5, v = uniforms.second, us = 0.5 - math::abs(u);
    const double k = math::floor((2.0 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0.0 || (us < 0.013 && v > us)) continue;
    const double left = math::log(v * inverse_alpha / (a / (us * us) + b));
    if (left <= k * log_rate - rate - math::lgamma(k + 1.0)) return k;
  }
}

// W. Hoermann, "The generation of binomial random variates", J. Stat. Comput. Simul. 46 (1993),
// 101: algorithm BTRS, for p <= 1/2.
DT_MATH double binomial_up_to_half(double n, double p, Uniforms numbers) {
  const double q = 1.0 - p, odds = p / q;
  if (n * p < 10.0) {
    return count_up(numbers.next().first, math::exp(n * math::log1p(-p)), n,
                    [=](double k) { return (n - k) / (k + 1.0) * odds; });
  }
  const double spread = math::sqrt(n * p * q), b = 1.15 + 2.53 * spread;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p, center = n * p + 0.5, v_r = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * spread, mode = math::floor((n + 1.0) * p);
  const double at_mode = math::lgamma(mode + 1.0) + math::lgamma(n - mode + 1.0);
  for (;;) {
    const Pair<double> uniforms = numbers.next();
    const double u = uniforms.first - 0.5, v = uniforms.second, us = 0.5 - math::abs(u);
    const double k = math::floor((2.0 * a / us + b) * u + center);
    if (k < 0.0 || k > n) continue;
    if (us >= 0.07 && v <= v_r) return k;
    const double right =
        at_mode - math::lgamma(k + 1.0) - math::lgamma(n - k + 1.0) + (k - mode) * math::log(odds);
    if (math::log(v * alpha / (a / (us * us) + b)) <= right) return k;
  }
}

DT_COUNTS double binomial(double count, double p, Uniforms numbers) {
  if (count != count || p != p) return math::kNaN;
  const double n = math::floor(count);
  if (n <= 0.0 || p <= 0.0) return 0.0;
  if (p >= 1.0) return n;
  return p > 0.5 ? n - binomial_up_to_half(n, 1.0 - p, numbers)
                 : binomial_up_to_half(n, p, numbers);
}

#undef DT_COUNTS

}  // namespace dt::philox
