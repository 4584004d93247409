// Products of few queries with a block of keys and of values, as a decoder with a cache has them:
// both are read once and where they lie, at the memory's rate, since packing them would take longer
// than the products. While one is read, the other's block is fetched.
#pragma once

#include "kernels/cpu/attention_block.h"
#include "kernels/cpu/halves.h"
#include "kernels/cpu/simd.h"

namespace dt::cpu {
namespace {

constexpr int64_t kFewQueries = 4;
constexpr int kRowsTogether = 8;

template <class T, class Stored>
Vector<T> load_stored(const Stored* x) {
  if constexpr (std::is_same_v<T, Stored>) {
    return load(x);
  } else {
    return widen_halves(x);
  }
}

template <class T, class Stored>
Vector<T> load_first_stored(const Stored* x, int64_t n) {
  if constexpr (std::is_same_v<T, Stored>) {
    return load_first(x, n);
  } else {
    return widen_first(x, n);
  }
}

// Rows that are read next.
struct RowsAhead {
  const char* data;
  int64_t row, bytes, rows;

  RowsAhead(const dt_view& x, int64_t batch, int64_t head, int64_t first, int64_t rows)
      : data(row_address(x, batch, head, first)),
        row(x.strides[2] * bytes_of(x.dtype)),
        bytes(x.sizes[3] * bytes_of(x.dtype)),
        rows(rows) {}

  void fetch(int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < min(end, rows); ++i) {
      for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(data + i * row + at, 0, 2);
    }
  }
};

// y[j] = scale times the inner product of x and row j, for kRows rows.
template <class T, int kRows, class Stored>
void dot_few(T* y, const T* x, T scale, const Stored* rows, int64_t row, int64_t n) {
  Vector<T> tile[kRows] = {};
  int64_t p = 0;
  for (; p + kLanes<T> <= n; p += kLanes<T>) {
    const Vector<T> left = load(x + p);
    DT_UNROLL
    for (int j = 0; j < kRows; ++j)
      tile[j] = multiply_add(left, load_stored<T>(rows + j * row + p), tile[j]);
  }
  if (p < n) {
    const Vector<T> left = load_first(x + p, n - p);
    DT_UNROLL
    for (int j = 0; j < kRows; ++j)
      tile[j] = multiply_add(left, load_first_stored<T>(rows + j * row + p, n - p), tile[j]);
  }
  sum_lanes<T>(tile, y);
  DT_UNROLL
  for (int j = 0; j < kRows; ++j) y[j] *= scale;
}

// sums += factors[0] * row 0 + factors[1] * row 1 + ..., of kRows rows.
template <class T, int kRows, class Stored>
void add_few(T* sums, const T* factors, const Stored* rows, int64_t row, int64_t n) {
  int64_t p = 0;
  for (; p + kLanes<T> <= n; p += kLanes<T>) {
    Vector<T> sum = load(sums + p);
    DT_UNROLL
    for (int j = 0; j < kRows; ++j)
      sum = multiply_add(splat(factors[j]), load_stored<T>(rows + j * row + p), sum);
    store(sums + p, sum);
  }
  if (p == n) return;
  Vector<T> sum = load_first(sums + p, n - p);
  DT_UNROLL
  for (int j = 0; j < kRows; ++j)
    sum = multiply_add(splat(factors[j]), load_first_stored<T>(rows + j * row + p, n - p), sum);
  store_few(sums + p, sum, n - p);
}

// Calls body(how many as a constant, the first of them) for all of n rows, some at a time.
template <class Body>
void for_each_few(int64_t n, const RowsAhead& ahead, const Body& body) {
  int64_t j = 0;
  for (; j + kRowsTogether <= n; j += kRowsTogether) {
    ahead.fetch(j, j + kRowsTogether);
    body(std::integral_constant<int, kRowsTogether>(), j);
  }
  for (; j < n; ++j) {
    ahead.fetch(j, j + 1);
    body(std::integral_constant<int, 1>(), j);
  }
}

// Calls f(rows, distance of two) with a block of x as it lies in memory, floats or bfloat16, or a
// copy.
template <class T, class F>
void with_stored_rows(T* copy, const dt_view& x, int64_t batch, int64_t head, int64_t first,
                      int64_t rows, const F& f) {
  if constexpr (std::is_same_v<T, float>) {
    if (x.strides[3] == 1 && x.dtype == dtype_of<BFloat16>) {
      const void* const data = row_address(x, batch, head, first);
      return f(static_cast<const BFloat16*>(data), x.strides[2]);
    }
  }
  const BlockRows<T> block = read_block(copy, x, batch, head, first, rows);
  f(block.data, block.row);
}

}  // namespace
}  // namespace dt::cpu
