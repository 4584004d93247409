// Products with a vector, or with a matrix of very few rows: they read every element of the large
// operand once, so packing it would double the work.
#pragma once

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/simd.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

// From this size on, a matrix is taken to lie in memory rather than in a core's caches.
constexpr int64_t kStreamBytes = 1 << 20;
// Sums of a line: enough to hide an addition's time. Lines are summed up together.
constexpr int kStreamSums = 4, kStreamLines = 4;

// The same product with y, a and b transposed.
template <class T>
Gemm<T> transposed(const Gemm<T>& g) {
  const auto flip = [](auto x) { return decltype(x){x.data, x.batch, x.col, x.row}; };
  Gemm<T> t = g;
  t.m = g.n, t.n = g.m;
  t.a = flip(g.b), t.b = flip(g.a), t.c = flip(g.c), t.y = flip(g.y);
  return t;
}

// y[batch, i, j] = alpha * sum + beta * c[batch, i, j].
template <class T>
inline void write_sum(const Gemm<T>& g, int64_t batch, int64_t i, int64_t j, T sum) {
  T value = g.alpha * sum;
  if (g.c.data != nullptr) value += g.beta * *g.c.at(batch, i, j);
  *g.y.at(batch, i, j) = value;
}

// With more rows than one tile of inner products has, packing b still costs more than what inner
// products take longer, if sums of lanes are rare. Wide vectors are packed fast.
#if defined(__AVX512F__)
constexpr int64_t kMostDotRows = kDotRows;
#else
constexpr int64_t kMostDotRows = 4 * kDotRows;
#endif

// Few rows of a, and k contiguous in a and in b: inner products.
template <class T>
bool is_thin_dot(const Gemm<T>& g) {
  const int64_t most = g.k >= 16 * kLanes<T> ? kMostDotRows : kDotRows;
  return g.m <= most && g.a.col == 1 && g.b.row == 1;
}

template <class T>
void dot_block(const Gemm<T>& g, int64_t batch, int64_t j0, int64_t j1) {
  int64_t offset[kDotCols];
  for (int64_t j = 0; j < kDotCols; ++j) offset[j] = j * g.b.col;
  T sums[kDotRows * kDotCols];
  const Runs runs = {1, g.k, 0, 0};
  for (int64_t j = j0; j < j1; j += kDotCols) {
    const int64_t cols = min<int64_t>(kDotCols, j1 - j);
    const T* b = g.b.at(batch, 0, j);
    for (int64_t i = 0; i < g.m; i += kDotRows) {
      const int64_t rows = min<int64_t>(kDotRows, g.m - i);
      const T* a = g.a.at(batch, i, 0);
      if (rows == 1) {
        inner_tile<T, 1, kDotCols>(runs, a, 0, 1, b, offset, cols, sums);
      } else {
        inner_tile<T, kDotRows, kDotCols>(runs, a, g.a.row, rows, b, offset, cols, sums);
      }
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c)
          write_sum(g, batch, i + r, j + c, sums[r * kDotCols + c]);
      }
    }
  }
}

// A row of a times lines of b that come from memory: one line after the other, since the processor
// fetches one stream ahead of time better than several that begin anew at each line.
template <class T>
bool is_stream(const Gemm<T>& g) {
  return g.m == 1 && g.n * g.k >= kStreamBytes / static_cast<int64_t>(sizeof(T));
}

template <class T>
Vector<T> line_product(const T* a, const T* b, int64_t k) {
  constexpr int64_t kLane = kLanes<T>, kStep = kStreamSums * kLane;
  Vector<T> sums[kStreamSums] = {};
  int64_t p = 0;
  for (; p + kStep <= k; p += kStep) {
    DT_UNROLL
    for (int i = 0; i < kStreamSums; ++i)
      sums[i] = multiply_add(load(a + p + i * kLane), load(b + p + i * kLane), sums[i]);
  }
  for (; p < k; p += kLane) {
    const int64_t n = min<int64_t>(kLane, k - p);
    sums[0] = multiply_add(load_first(a + p, n), load_first(b + p, n), sums[0]);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T>
__attribute__((noinline)) void stream_block(const Gemm<T>& g, int64_t batch, int64_t j0,
                                            int64_t j1) {
  for (int64_t j = j0; j < j1; j += kStreamLines) {
    const int64_t lines = min<int64_t>(kStreamLines, j1 - j);
    Vector<T> tile[kStreamLines];
    for (int64_t c = 0; c < kStreamLines; ++c)
      tile[c] = line_product(g.a.at(batch, 0, 0), g.b.at(batch, 0, j + min(c, lines - 1)), g.k);
    T sums[kStreamLines];
    sum_lanes<T>(tile, sums);
    for (int64_t c = 0; c < lines; ++c) write_sum(g, batch, 0, j + c, sums[c]);
  }
}

// One row of a, and the rows of b contiguous: a sum of b's rows.
template <class T>
bool is_thin_sum(const Gemm<T>& g) {
  return g.m == 1 && g.b.col == 1;
}

constexpr int64_t kSumColumns = 4096;  // sums kept on the stack

// Row after row, as long as they are: the processor fetches ahead what is read in order.
template <class T>
void sum_block(const Gemm<T>& g, int64_t batch, int64_t j0, int64_t j1) {
  T sums[kSumColumns] = {};
  for (int64_t k = 0; k < g.k; ++k) {
    const T factor = *g.a.at(batch, 0, k);
    const T* const row = g.b.at(batch, k, j0);
    for (int64_t j = 0; j < j1 - j0; ++j) sums[j] += factor * row[j];
  }
  for (int64_t j = j0; j < j1; ++j) write_sum(g, batch, 0, j, sums[j - j0]);
}

template <class T>
bool is_thin(const Gemm<T>& g) {
  const Gemm<T> flipped = transposed(g);
  return is_thin_dot(g) || is_thin_dot(flipped) || is_thin_sum(g) || is_thin_sum(flipped);
}

// The orientation in which a thin product is a dot or a sum; dots are preferred.
template <class T>
Gemm<T> thin_orientation(const Gemm<T>& g) {
  const Gemm<T> flipped = transposed(g);
  if (is_thin_dot(g)) return g;
  if (is_thin_dot(flipped)) return flipped;
  return is_thin_sum(g) ? g : flipped;
}

template <class T>
void run_thin(const dt_stream* stream, const Gemm<T>& g) {
  const Gemm<T> thin = thin_orientation(g);
  const bool inner = is_thin_dot(thin);
  const int64_t cycles =
      thin.batch * thin.m * thin.n * thin.k * static_cast<int64_t>(sizeof(T)) / 32;
  const bool parallel = worth_threads(stream, cycles);
  const int64_t shares = !parallel ? 1 : inner ? 8 * stream->threads : stream->threads;
  const int64_t share = ceil_div(thin.n, shares);
  const int64_t cols = min(kSumColumns, ceil_div(share, 64) * 64);
  const int64_t blocks = ceil_div(thin.n, cols);
  for_each_item(stream, thin.batch * blocks, parallel, [&](int64_t item, int64_t) {
    const int64_t batch = item / blocks, j0 = item % blocks * cols, j1 = min(j0 + cols, thin.n);
    if (inner && is_stream(thin)) {
      stream_block(thin, batch, j0, j1);
    } else if (inner) {
      dot_block(thin, batch, j0, j1);
    } else {
      sum_block(thin, batch, j0, j1);
    }
    activate_block(thin, batch, 0, thin.m, j0, j1);
  });
}

}  // namespace
}  // namespace dt::cpu
