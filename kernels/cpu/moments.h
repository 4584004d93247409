// Mean and sum of squared deviations, merged as by Chan, Golub and LeVeque.
#pragma once

#include "kernels/cpu/lanes.h"

namespace dt::cpu {
namespace {

// The sums of both terms(i, count), which are vectors made of elements [i, i + count) of something.
// Like reduce_span, it adds in an order that depends on n alone.
template <class T>
struct TwoSums {
  Vector<T> first, second;
};

template <class T, class Terms>
inline void sum_two(int64_t n, const Terms& terms, double* first, double* second) {
  constexpr int64_t kWidth = kVectorBytes / sizeof(T), kVectors = 128 / kVectorBytes;
  if (n <= kWidth) {
    const TwoSums<T> two = terms(0, n);
    *first = static_cast<double>(reduce_lanes<Sum<T>, T>(keep_first(two.first, n, T(0))));
    *second = static_cast<double>(reduce_lanes<Sum<T>, T>(keep_first(two.second, n, T(0))));
    return;
  }
  Vector<T> a[kVectors] = {}, b[kVectors] = {};
  int64_t i = 0;
  for (; i + kVectors * kWidth <= n; i += kVectors * kWidth) {
    DT_UNROLL_LANES
    for (int64_t k = 0; k < kVectors; ++k) {
      const TwoSums<T> two = terms(i + k * kWidth, std::integral_constant<int64_t, kWidth>());
      a[k] += two.first, b[k] += two.second;
    }
  }
  DT_UNROLL_LANES
  for (int64_t k = 0; k < kVectors; ++k, i += kWidth) {
    if (i >= n) break;
    const int64_t rest = min(kWidth, n - i);
    const TwoSums<T> two = terms(i, rest);
    a[k] += keep_first(two.first, rest, T(0)), b[k] += keep_first(two.second, rest, T(0));
  }
  DT_UNROLL_LANES
  for (int64_t half = kVectors / 2; half > 0; half /= 2) {
    DT_UNROLL_LANES
    for (int64_t k = 0; k < half; ++k) a[k] += a[k + half], b[k] += b[k + half];
  }
  *first = static_cast<double>(reduce_lanes<Sum<T>, T>(a[0]));
  *second = static_cast<double>(reduce_lanes<Sum<T>, T>(b[0]));
}

struct Moments {
  double count = 0, mean = 0, squares = 0;

  void merge(double other_count, double other_mean, double other_squares) {
    if (count == 0) {
      count = other_count, mean = other_mean, squares = other_squares;
      return;
    }
    const double total = count + other_count, delta = other_mean - mean,
                 weight = other_count / total;
    mean += delta * weight;
    squares += other_squares + delta * delta * count * weight;
    count = total;
  }

  // A contiguous run that stays in the first-level cache. Its mean is rounded; by how much is found
  // out with the squares, so a large mean costs no digits.
  template <class T>
  void add_run(const T* x, int64_t n) {
    const T about = reduce_span<Sum<T>>(x, n) / static_cast<T>(n);
    double off, around;
    sum_two<T>(
        n,
        [=](int64_t i, int64_t count) -> TwoSums<T> {
          const Vector<T> v = load_as<T>(x + i, count) - about;
          return {v, v * v};
        },
        &off, &around);
    const double size = static_cast<double>(n), shift = off / size;
    merge(size, static_cast<double>(about) + shift, around - shift * shift * size);
  }

  // One over the standard deviation. Rounding may leave a variance of less than nothing; NaN is not
  // less, so it stays.
  double rstd(double eps) const {
    const double variance = squares < 0 ? 0.0 : squares / count;
    return 1.0 / __builtin_sqrt(variance + eps);
  }
};

}  // namespace
}  // namespace dt::cpu
