// What softmax and layer_norm do to dense rows. Short rows are handled several at a time: what is
// left of each is a vector, and the vectors of a group are added up in one go.
#pragma once

#include "kernels/cpu/simd.h"

namespace dt::cpu {
namespace {

constexpr int64_t kShortRow = 256;  // elements; groups of such rows stay in L1
constexpr int64_t kRowTile = 2048;  // elements of a row between two sums
template <class T>
constexpr int64_t kMostRows = kLanes<T>;  // of a group

template <class T>
constexpr int64_t rows_together(int64_t n) {
  return n <= kShortRow ? kMostRows<T> : 1;
}

// Vectors that are added up side by side, each to its own sum.
template <class T, int kSums>
struct Terms {
  Vector<T> sum[kSums];

  Terms& operator+=(const Terms& other) {
    DT_UNROLL
    for (int s = 0; s < kSums; ++s) sum[s] += other.sum[s];
    return *this;
  }
};

// The sums of all terms(i, some), which stand for `some` elements from i on, or all of a vector:
// of `count` elements from `first` on. Four sums of each hide the latency of an addition where that
// is worth adding them up.
template <class T, class TermsOf>
inline auto sum_terms(int64_t first, int64_t count, const TermsOf& terms) {
  constexpr int64_t kWidth = kLanes<T>, kTogether = 4;
  using Sums = decltype(terms(first, kWidth));
  Sums sum = {};
  int64_t i = first;
  const int64_t end = first + count;
  if (count >= kTogether * kWidth) {
    Sums sums[kTogether] = {};
    for (; i + kTogether * kWidth <= end; i += kTogether * kWidth) {
      DT_UNROLL_LANES
      for (int64_t k = 0; k < kTogether; ++k) sums[k] += terms(i + k * kWidth, kWidth);
    }
    sums[0] += sums[1], sums[2] += sums[3];
    sum = sums[0] += sums[2];
  }
  for (; i + kWidth <= end; i += kWidth) sum += terms(i, kWidth);
  if (i < end) {
    Sums last = terms(i, end - i);
    for (Vector<T>& v : last.sum) v = keep_first(v, end - i, T(0));
    sum += last;
  }
  return sum;
}

// sums[k] is the sum of the lanes of all terms(k, first, count), which stand for `count` elements
// of row k from `first` on.
template <class T, class TermsOf, class... Sums>
void sum_rows(int64_t rows, int64_t n, const TermsOf& terms, Sums&... sums) {
  constexpr int kSums = sizeof...(Sums);
  T* const into[kSums] = {sums...};
  double total[kSums][kMostRows<T>];
  int64_t first = 0;
  do {
    Vector<T> left[kSums][kMostRows<T>];
    for (int64_t k = 0; k < kMostRows<T>; ++k) {
      Terms<T, kSums> row = {};
      if (k < rows) row = terms(k, first, min(kRowTile, n - first));
      DT_UNROLL
      for (int s = 0; s < kSums; ++s) left[s][k] = row.sum[s];
    }
    DT_UNROLL
    for (int s = 0; s < kSums; ++s) {
      store(into[s], reduce_each<Sum<T>>(left[s]));
      if (n <= kRowTile) continue;
      for (int64_t k = 0; k < rows; ++k)
        total[s][k] = (first > 0 ? total[s][k] : 0.0) + static_cast<double>(into[s][k]);
    }
    first += kRowTile;
  } while (first < n);
  if (n <= kRowTile) return;
  for (int s = 0; s < kSums; ++s)
    for (int64_t k = 0; k < rows; ++k) into[s][k] = static_cast<T>(total[s][k]);
}

// y[i] = value(i) for n elements, where value(i, count) gives `count` elements from i on, or all of
// a vector. The last vector overlaps the one before; y may be what is read.
template <class T, class Value>
inline void write_row(T* y, int64_t n, const Value& value) {
  constexpr int64_t kWidth = kLanes<T>;
  if (n < kWidth) return store_few(y, value(0, n), n);
  Vector<T> last = {};
  if (n % kWidth != 0) last = value(n - kWidth, kWidth);
  for (int64_t i = 0; i + kWidth <= n; i += kWidth) store(y + i, value(i, kWidth));
  if (n % kWidth != 0) store(y + n - kWidth, last);
}

}  // namespace
}  // namespace dt::cpu
