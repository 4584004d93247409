// The two kernels at the bottom of every matrix product and convolution. Both keep a tile of sums
// in registers for the whole of the inner loop; they differ in where the vectors lie.
//
// Not in a namespace without a name: the files of an instruction set share one copy of each tile.
#pragma once

#include "kernels/cpu/simd.h"

namespace dt::cpu {

// The tile of outer products: kTileRows x (2 vectors) sums fill the registers, less the two vectors
// of b and one of a.
#if defined(__AVX512F__)
constexpr int kTileRows = 12;
#elif defined(__AVX__)
constexpr int kTileRows = 6;
#else
constexpr int kTileRows = 4;
#endif

// A loop over a large tile has time to spare for a prefetch in each step, which is smoother than
// all of them at once.
constexpr bool kFetchInLoop = kTileRows > 6;

template <class T>
constexpr int kTileCols = 2 * kLanes<T>;

// What becomes of a tile's sums: y = alpha * sums + bias[row] + beta * c.
template <class T>
struct TileOutput {
  T* y;
  int64_t y_row;  // distance of two rows
  const T* c;     // NULL: none; may be y
  int64_t c_row;
  const T* bias;  // one number per row, or NULL
  T alpha, beta;
};

// What will be needed soon: `step` elements from `data` on for each step along k are brought into
// the second-level cache while the tile is computed; the next tile goes on `next` elements further.
template <class T>
struct Ahead {
  const T* data;
  int64_t step, next = 0;
};

// Where row k of b begins.
struct EvenRows {
  int64_t distance;
  int64_t at(int64_t k) const { return k * distance; }
};
struct ListedRows {
  const int64_t* offset;
  int64_t at(int64_t k) const { return offset[k]; }
};

// Stores a whole tile. The cases are told apart outside of the loop over registers.
template <bool kAddC, class T, int kRows, int kVectors>
inline void store_tile(const Vector<T> (&sums)[kRows][kVectors], const TileOutput<T>& out) {
  const Vector<T> beta = splat(out.beta);
  T* y = out.y;
  const T* c = out.c;
  DT_UNROLL
  for (int i = 0; i < kRows; ++i) {
    DT_UNROLL
    for (int j = 0; j < kVectors; ++j) {
      const int64_t first = j * kLanes<T>;
      store(y + first, kAddC ? multiply_add(load(c + first), beta, sums[i][j]) : sums[i][j]);
    }
    y += out.y_row;
    if (kAddC) c += out.c_row;
  }
}

// Stores a tile of `vectors` vectors per row whose first `cols` columns exist. That is rare enough
// to go through memory, and for one piece of code for all tiles.
template <class T>
__attribute__((noinline)) void store_part(const Vector<T>* sums, int64_t rows, int64_t vectors,
                                          int64_t cols, const TileOutput<T>& out) {
  for (int64_t i = 0; i < rows; ++i, sums += vectors) {
    for (int64_t j = 0; j < cols; j += kLanes<T>) {
      const int64_t lanes = min<int64_t>(cols - j, kLanes<T>);
      T* const y = out.y + i * out.y_row + j;
      Vector<T> v = sums[j / kLanes<T>];
      if (out.c != nullptr)
        v = multiply_add(load_first(out.c + i * out.c_row + j, lanes), splat(out.beta), v);
      if (lanes == kLanes<T>) {
        store(y, v);
      } else {
        store_few(y, v, lanes);
      }
    }
  }
}

template <class T, int kRows, int kVectors>
__attribute__((always_inline)) inline void finish_tile(Vector<T> (&sums)[kRows][kVectors],
                                                       int64_t cols, const TileOutput<T>& out) {
  if (out.alpha != T(1)) {
    const Vector<T> alpha = splat(out.alpha);
    DT_UNROLL
    for (int i = 0; i < kRows; ++i) {
      DT_UNROLL
      for (int j = 0; j < kVectors; ++j) sums[i][j] *= alpha;
    }
  }
  if (out.bias != nullptr) {
    DT_UNROLL
    for (int i = 0; i < kRows; ++i) {
      DT_UNROLL
      for (int j = 0; j < kVectors; ++j) sums[i][j] += splat(out.bias[i]);
    }
  }
  if (cols != kVectors * kLanes<T>) {
    Vector<T> copy[kRows * kVectors];  // for sums themselves to stay in registers
    DT_UNROLL
    for (int i = 0; i < kRows; ++i) {
      DT_UNROLL
      for (int j = 0; j < kVectors; ++j) copy[i * kVectors + j] = sums[i][j];
    }
    store_part<T>(copy, kRows, kVectors, cols, out);
  } else if (out.c == nullptr) {
    store_tile<false>(sums, out);
  } else {
    store_tile<true>(sums, out);
  }
}

// sums[i][j] = sum over k of a[i * a_row + k * a_k] * b[rows.at(k) + j], for kRows rows i and
// kVectors vectors of j: each element of a is spread over a vector and meets a vector of b. b must
// be readable for whole vectors; `cols` says how many columns are written.
template <class T, int kRows, int kVectors, class Rows>
__attribute__((noinline)) void fixed_outer_tile(int64_t k_count, const T* a, int64_t a_row,
                                                int64_t a_k, const T* b, Rows rows, int64_t cols,
                                                const TileOutput<T>& out, Ahead<T> ahead) {
  for (int i = 0; i < kRows; ++i) {  // y is needed at the end, and by then it should have arrived
    __builtin_prefetch(out.y + i * out.y_row);
    __builtin_prefetch(out.y + i * out.y_row + (kVectors - 1) * kLanes<T>);
  }
  if (!kFetchInLoop) {
    const T* end = ahead.data + k_count * ahead.step;
    for (const T* p = ahead.data; p < end; p += 64 / sizeof(T)) __builtin_prefetch(p, 0, 2);
  }
  // Rows share a few pointers: with an address of its own for each row, some would have to be
  // fetched from the stack in the loop.
  constexpr int kGroupRows = kRows <= 6 ? kRows : 4, kGroups = (kRows - 1) / kGroupRows + 1;
  const T* group[kGroups];
  for (int g = 0; g < kGroups; ++g) group[g] = a + g * kGroupRows * a_row;
  Vector<T> sums[kRows][kVectors] = {};
  for (int64_t k = 0; k < k_count; ++k) {
    const T* row = b + rows.at(k);
    if (kFetchInLoop) {
      __builtin_prefetch(ahead.data, 0, 2);
      ahead.data += ahead.step;
    }
    Vector<T> vectors[kVectors];
    DT_UNROLL
    for (int j = 0; j < kVectors; ++j) vectors[j] = load(row + j * kLanes<T>);
    DT_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const Vector<T> factor = splat(group[i / kGroupRows][i % kGroupRows * a_row]);
      DT_UNROLL
      for (int j = 0; j < kVectors; ++j) sums[i][j] = multiply_add(factor, vectors[j], sums[i][j]);
    }
    DT_UNROLL
    for (int g = 0; g < kGroups; ++g) group[g] += a_k;
  }
  finish_tile<T, kRows, kVectors>(sums, cols, out);
}

template <class T, int kVectors, class Rows, int kRows>
inline void choose_outer_tile(int64_t row_count, int64_t k_count, const T* a, int64_t a_row,
                              int64_t a_k, const T* b, Rows rows, int64_t cols,
                              const TileOutput<T>& out, const Ahead<T>& ahead) {
  if constexpr (kRows > 1) {
    if (row_count < kRows) {
      choose_outer_tile<T, kVectors, Rows, kRows - 1>(row_count, k_count, a, a_row, a_k, b, rows,
                                                      cols, out, ahead);
      return;
    }
  }
  fixed_outer_tile<T, kRows, kVectors, Rows>(k_count, a, a_row, a_k, b, rows, cols, out, ahead);
}

// The same for a number of rows known at run time only, at most kRows.
template <class T, int kVectors, class Rows, int kRows = kTileRows>
__attribute__((noinline)) void outer_tile(int64_t row_count, int64_t k_count, const T* a,
                                          int64_t a_row, int64_t a_k, const T* b, Rows rows,
                                          int64_t cols, const TileOutput<T>& out,
                                          const Ahead<T>& ahead) {
  choose_outer_tile<T, kVectors, Rows, kRows>(row_count, k_count, a, a_row, a_k, b, rows, cols, out,
                                              ahead);
}

// The tile of inner products.
#if defined(__AVX512F__)
constexpr int kDotRows = 4, kDotCols = 6;
#elif defined(__AVX__)
constexpr int kDotRows = 3, kDotCols = 4;
#else
constexpr int kDotRows = 2, kDotCols = 4;
#endif

// One operand of inner_tile: `segments` runs of `length` numbers each.
struct Runs {
  int64_t segments, length;
  int64_t a_segment, b_segment;  // distance of two runs
};

// sums[i * kCols + j] = sum over segments s and p < length of a[i * a_row + s * a_segment + p] *
// b[b_offset[j] + s * b_segment + p]: vectors lie along p and are summed at the end. Rows and
// columns beyond row_count and col_count repeat the last one.
template <class T, int kRows, int kCols>
__attribute__((noinline)) void inner_tile(const Runs& runs, const T* a, int64_t a_row,
                                          int64_t row_count, const T* b, const int64_t* b_offset,
                                          int64_t col_count, T* sums) {
  const T* rows[kRows];
  const T* cols[kCols];
  for (int i = 0; i < kRows; ++i) rows[i] = a + min<int64_t>(i, row_count - 1) * a_row;
  for (int j = 0; j < kCols; ++j) cols[j] = b + b_offset[min<int64_t>(j, col_count - 1)];
  Vector<T> tile[kRows * kCols] = {};
  for (int64_t s = 0; s < runs.segments; ++s) {
    int64_t p = 0;
    for (; p + kLanes<T> <= runs.length; p += kLanes<T>) {
      Vector<T> left[kRows];
      DT_UNROLL
      for (int i = 0; i < kRows; ++i) left[i] = load(rows[i] + p);
      DT_UNROLL
      for (int j = 0; j < kCols; ++j) {
        const Vector<T> right = load(cols[j] + p);
        DT_UNROLL
        for (int i = 0; i < kRows; ++i)
          tile[i * kCols + j] = multiply_add(left[i], right, tile[i * kCols + j]);
      }
    }
    if (p < runs.length) {
      DT_UNROLL
      for (int j = 0; j < kCols; ++j) {
        const Vector<T> right = load_first(cols[j] + p, runs.length - p);
        DT_UNROLL
        for (int i = 0; i < kRows; ++i) {
          const Vector<T> left = load_first(rows[i] + p, runs.length - p);
          tile[i * kCols + j] = multiply_add(left, right, tile[i * kCols + j]);
        }
      }
    }
    for (int i = 0; i < kRows; ++i) rows[i] += runs.a_segment;
    for (int j = 0; j < kCols; ++j) cols[j] += runs.b_segment;
  }
  sum_lanes<T>(tile, sums);
}

}  // namespace dt::cpu
