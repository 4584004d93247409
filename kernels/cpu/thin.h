// Products with a vector, or with a matrix of very few rows: they read every element of the large
// operand once, so packing it would double the work.
#pragma once

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/micro.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

// From this size on, a matrix is taken to lie in memory rather than in a core's caches.
constexpr int64_t kStreamBytes = 1 << 20;
// How many lines are read side by side, and vectors of each: what the registers hold sums of.
constexpr int kStreams = 8, kStreamVectors = kTileRows > 6 ? 2 : 1;
constexpr int64_t kMostColumns = 4096;  // of a block, whose sums are kept on the stack

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
// products take longer, if sums of lanes are rare: so many tiles, each of which is worth so long a
// k.
constexpr int64_t kMostDotTiles = 4, kVectorsPerDotTile = kTileRows > 6 ? 8 : 4;

// Few rows of a, and k contiguous in b: inner products. Where k is not contiguous in a, its few
// rows are copied, if sums of lanes are rare.
template <class T>
bool is_thin_dot(const Gemm<T>& g) {
  const int64_t tiles = min(kMostDotTiles, g.k / (kVectorsPerDotTile * kLanes<T>));
  if (g.a.col != 1) return g.b.row == 1 && g.m <= min(tiles * kDotRows, g.n / 4);
  return g.b.row == 1 && g.m <= max<int64_t>(1, tiles) * kDotRows;
}

template <class T>
int64_t copied_elements(const Gemm<T>& g) {
  return g.a.col == 1 ? 0 : (g.a.batch == 0 ? 1 : g.batch) * g.m * g.k;
}

// The same product with a copied to `to`, k contiguous.
template <class T>
Gemm<T> with_copied_rows(const dt_stream* stream, const Gemm<T>& g, T* to) {
  constexpr int64_t kSteps = 256;
  const int64_t batch = g.a.batch == 0 ? 1 : g.batch, parts = ceil_div(g.k, kSteps);
  parallel_for(stream, batch * parts, copied_elements(g), [&](int64_t item) {
    const int64_t n = item / parts, begin = item % parts * kSteps, end = min(g.k, begin + kSteps);
    for (int64_t k = begin; k < end; ++k) {
      for (int64_t i = 0; i < g.m; ++i) to[(n * g.m + i) * g.k + k] = *g.a.at(n, i, k);
    }
  });
  Gemm<T> copied = g;
  copied.a = {to, g.a.batch == 0 ? 0 : g.m * g.k, g.k, 1};
  return copied;
}

// A single inner product: as many sums as hide how long each takes. The order of the additions
// follows from k alone.
template <class T>
__attribute__((noinline)) T dot_line(const T* a, const T* b, int64_t k) {
  constexpr int kSums = 8;
  Vector<T> sums[kSums] = {};
  int64_t p = 0;
  for (; p + kSums * kLanes<T> <= k; p += kSums * kLanes<T>) {
    DT_UNROLL
    for (int s = 0; s < kSums; ++s)
      sums[s] = multiply_add(load(a + p + s * kLanes<T>), load(b + p + s * kLanes<T>), sums[s]);
  }
  for (; p < k; p += kLanes<T>) {
    const int64_t n = min<int64_t>(kLanes<T>, k - p);
    sums[0] = multiply_add(load_first(a + p, n), load_first(b + p, n), sums[0]);
  }
  for (int distance = kSums / 2; distance > 0; distance /= 2) {
    for (int s = 0; s < distance; ++s) sums[s] += sums[s + distance];
  }
  return reduce_lanes<Sum<T>, T>(sums[0]);
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
      if (rows == 1 && g.n == 1) {  // whatever this thread's part is
        sums[0] = dot_line(a, b, g.k);
      } else if (rows == 1) {
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

// A row of a times lines of b that come from memory. Of fewer lines than are read side by side some
// would be read again and again.
template <class T>
bool is_stream(const Gemm<T>& g) {
  return g.m == 1 && g.n >= kStreams && g.n * g.k >= kStreamBytes / static_cast<int64_t>(sizeof(T));
}

template <class T>
struct LineProduct {
  using Sum = T;
  static constexpr int64_t kLane = kLanes<T>;

  static void add(Vector<T>* sum, const T* a, const T* b) {
    *sum = multiply_add(load(a), load(b), *sum);
  }
  static Vector<T> add_first(Vector<T> sum, const T* a, const T* b, int64_t n) {
    return multiply_add(load_first(a, n), load_first(b, n), sum);
  }
};

// sums[j] = a [k] times line j of b. Lines of several parts of b are read side by side: a processor
// fetches each of a few streams ahead of time, and more of them together than of one alone.
template <class Product, class T>
__attribute__((always_inline)) inline void multiply_lines(const T* a, const T* b, int64_t line,
                                                          int64_t lines, int64_t k,
                                                          typename Product::Sum* sums) {
  using Sum = typename Product::Sum;
  constexpr int64_t kStep = kStreamVectors * Product::kLane;
  const int64_t each = ceil_div(lines, kStreams);
  for (int64_t i = 0; i < each; ++i) {
    const T* rows[kStreams];
    for (int64_t s = 0; s < kStreams; ++s) rows[s] = b + min(s * each + i, lines - 1) * line;
    Vector<Sum> parts[kStreams][kStreamVectors] = {}, tile[kStreams];
    int64_t p = 0;
    for (; p + kStep <= k; p += kStep) {
      DT_UNROLL
      for (int s = 0; s < kStreams; ++s) {
        DT_UNROLL
        for (int v = 0; v < kStreamVectors; ++v)
          Product::add(&parts[s][v], a + p + v * Product::kLane, rows[s] + p + v * Product::kLane);
      }
    }
    for (; p < k; p += Product::kLane) {
      DT_UNROLL
      for (int s = 0; s < kStreams; ++s) {
        parts[s][0] =
            Product::add_first(parts[s][0], a + p, rows[s] + p, min(Product::kLane, k - p));
      }
    }
    DT_UNROLL
    for (int s = 0; s < kStreams; ++s) {
      tile[s] = parts[s][0];
      for (int v = 1; v < kStreamVectors; ++v) tile[s] += parts[s][v];
    }
    Sum values[kStreams];
    sum_lanes<Sum>(tile, values);
    for (int64_t s = 0; s < kStreams && s * each + i < lines; ++s) sums[s * each + i] = values[s];
  }
}

template <class T>
__attribute__((noinline)) void stream_block(const Gemm<T>& g, int64_t batch, int64_t j0,
                                            int64_t j1) {
  T sums[kMostColumns];
  multiply_lines<LineProduct<T>>(g.a.at(batch, 0, 0), g.b.at(batch, 0, j0), g.b.col, j1 - j0, g.k,
                                 sums);
  for (int64_t j = j0; j < j1; ++j) write_sum(g, batch, 0, j, sums[j - j0]);
}

// One row of a, and the rows of b contiguous: a sum of b's rows.
template <class T>
bool is_thin_sum(const Gemm<T>& g) {
  return g.m == 1 && g.b.col == 1;
}

// sums += factors[0] * rows[0] + factors[1] * rows[1] + ..., of n elements.
template <class T, int kRows>
inline void add_few_rows(T* sums, const T* factors, int64_t step, const T* rows, int64_t row,
                         int64_t n) {
  Vector<T> spread[kRows];
  DT_UNROLL
  for (int i = 0; i < kRows; ++i) spread[i] = splat(factors[i * step]);
  int64_t j = 0;
  for (; j + kLanes<T> <= n; j += kLanes<T>) {
    Vector<T> sum = load(sums + j);
    DT_UNROLL
    for (int i = 0; i < kRows; ++i) sum = multiply_add(spread[i], load(rows + i * row + j), sum);
    store(sums + j, sum);
  }
  if (j == n) return;
  Vector<T> sum = load_first(sums + j, n - j);
  DT_UNROLL
  for (int i = 0; i < kRows; ++i)
    sum = multiply_add(spread[i], load_first(rows + i * row + j, n - j), sum);
  store_few(sums + j, sum, n - j);
}

// The same for k rows: a few at a time, as long as they are, since the processor fetches ahead what
// is read in order.
template <class T>
__attribute__((noinline)) void add_rows(T* sums, const T* factors, int64_t step, const T* rows,
                                        int64_t row, int64_t k, int64_t n) {
  constexpr int kTogether = 4;
  int64_t i = 0;
  for (; i + kTogether <= k; i += kTogether)
    add_few_rows<T, kTogether>(sums, factors + i * step, step, rows + i * row, row, n);
  for (; i < k; ++i) add_few_rows<T, 1>(sums, factors + i * step, step, rows + i * row, row, n);
}

// The sum of rows that a vector holds stays in registers: in a few of them, which do not wait for
// each other.
template <class T>
Vector<T> sum_of_narrow_rows(const T* factors, int64_t step, const T* rows, int64_t row, int64_t k,
                             int64_t n) {
  constexpr int kTogether = 4;
  Vector<T> sums[kTogether] = {};
  int64_t i = 0;
  for (; i + kTogether <= k; i += kTogether) {
    DT_UNROLL
    for (int s = 0; s < kTogether; ++s) {
      sums[s] = multiply_add(splat(factors[(i + s) * step]), load_first(rows + (i + s) * row, n),
                             sums[s]);
    }
  }
  for (; i < k; ++i)
    sums[0] = multiply_add(splat(factors[i * step]), load_first(rows + i * row, n), sums[0]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

constexpr int64_t kNarrowVectors = 4;

template <class T>
void sum_block(const Gemm<T>& g, int64_t batch, int64_t j0, int64_t j1) {
  T sums[kMostColumns];
  const T *const factors = g.a.at(batch, 0, 0), *const rows = g.b.at(batch, 0, j0);
  if (g.n <= kNarrowVectors * kLanes<T>) {  // not j1 - j0, which depends on the threads
    for (int64_t j = 0; j < j1 - j0; j += kLanes<T>) {
      store(sums + j, sum_of_narrow_rows(factors, g.a.col, rows + j, g.b.row, g.k,
                                         min<int64_t>(kLanes<T>, j1 - j0 - j)));
    }
  } else {
    for (int64_t j = 0; j < j1 - j0; ++j) sums[j] = 0;
    add_rows(sums, factors, g.a.col, rows, g.b.row, g.k, j1 - j0);
  }
  for (int64_t j = j0; j < j1; ++j) write_sum(g, batch, 0, j, sums[j - j0]);
}

template <class T>
bool is_thin(const Gemm<T>& g) {
  const Gemm<T> flipped = transposed(g);
  return is_thin_dot(g) || is_thin_dot(flipped) || is_thin_sum(g) || is_thin_sum(flipped);
}

// The orientation in which a thin product is a dot or a sum; dots are preferred, of what need not
// be copied.
template <class T>
Gemm<T> thin_orientation(const Gemm<T>& g) {
  const Gemm<T> flipped = transposed(g);
  const bool is_dot = is_thin_dot(g), is_flipped_dot = is_thin_dot(flipped);
  if (is_dot && is_flipped_dot) return copied_elements(g) == 0 ? g : flipped;
  if (is_dot || is_flipped_dot) return is_dot ? g : flipped;
  return is_thin_sum(g) ? g : flipped;
}

template <class T>
int64_t thin_workspace(const Gemm<T>& g) {
  const Gemm<T> thin = thin_orientation(g);
  return is_thin_dot(thin) ? copied_elements(thin) * static_cast<int64_t>(sizeof(T)) : 0;
}

// Calls body(batch, j0, j1) for blocks of columns.
template <class T, class Body>
void for_each_thin_block(const dt_stream* stream, const Gemm<T>& g, bool inner, const Body& body) {
  const int64_t cycles = g.batch * g.m * g.n * g.k * static_cast<int64_t>(sizeof(T)) / 32;
  const bool parallel = worth_threads(stream, cycles);
  const int64_t shares = !parallel ? 1 : inner ? 8 * stream->threads : stream->threads;
  const int64_t cols = min(kMostColumns, ceil_div(ceil_div(g.n, shares), 64) * 64);
  const int64_t blocks = ceil_div(g.n, cols);
  for_each_item(stream, g.batch * blocks, parallel, [&](int64_t item, int64_t) {
    const int64_t j0 = item % blocks * cols;
    body(item / blocks, j0, min(j0 + cols, g.n));
  });
}

template <class T>
void run_thin(const dt_stream* stream, const Gemm<T>& g, void* workspace) {
  Gemm<T> thin = thin_orientation(g);
  const bool inner = is_thin_dot(thin);
  if (inner && copied_elements(thin) != 0)
    thin = with_copied_rows(stream, thin, static_cast<T*>(workspace));
  for_each_thin_block(stream, thin, inner, [&](int64_t batch, int64_t j0, int64_t j1) {
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
