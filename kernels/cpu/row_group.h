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

// sums[k] is the sum of the lanes of all term(k, first, count), which stand for `count` elements of
// row k from `first` on.
template <class T, class Term>
void sum_rows(T (&sums)[kMostRows<T>], int64_t rows, int64_t n, const Term& term) {
  double total[kMostRows<T>] = {};
  for (int64_t first = 0; first < n; first += kRowTile) {
    reduce_group<Sum<T>>(sums, rows,
                         [&](int64_t k) { return term(k, first, min(kRowTile, n - first)); });
    if (n <= kRowTile) return;
    for (int64_t k = 0; k < rows; ++k) total[k] += static_cast<double>(sums[k]);
  }
  for (int64_t k = 0; k < rows; ++k) sums[k] = static_cast<T>(total[k]);
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
