// Matrix products of integers, which wrap around: those of signed and of unsigned ones are the same
// bits. Bytes are multiplied as 16 bits, the least that processors multiply.
//
// Threads take parts of y. A part goes through blocks of k: it packs its rows of a, and then panels
// of b one after the other, as wide as a tile of sums in registers, each of which all rows meet.
// Only the innermost steps know what elements are; the rest counts bytes.
#pragma once

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/lanes.h"

namespace dt::cpu {
namespace {

constexpr int64_t kIntegerRows = 4, kPanelBytes = 2 * kVectorBytes;
constexpr int64_t kPartRows = 64, kPartPanels = 8;
constexpr int64_t kBlockBytes = 512;  // of a packed row of a
constexpr int64_t kRowsInPlace = 8;   // of a, for which b is read where it is
constexpr int64_t kFewColumns = 16;   // of y, which are better rows of its transpose
constexpr int64_t kLongBlockBytes = kPartRows / kRowsInPlace * kBlockBytes;  // of a row of those

// to[i * to_row + j] = from[i * row + j * col]
template <class F, class U>
void pack_integers(void* to, int64_t to_row, const void* from, int64_t row, int64_t col,
                   int64_t rows, int64_t cols) {
  F* const y = static_cast<F*>(to);
  const U* const x = static_cast<const U*>(from);
  if (col != 1) {
    constexpr int64_t kSome = 64;  // lines of y, which stay in the first-level cache meanwhile
    for (int64_t first = 0; first < rows; first += kSome) {
      for (int64_t j = 0; j < cols; ++j) {
        for (int64_t i = first; i < min(rows, first + kSome); ++i)
          y[i * to_row + j] = x[i * row + j * col];
      }
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
    if constexpr (sizeof(F) == sizeof(U)) {
      __builtin_memcpy(y + i * to_row, x + i * row, cols * sizeof(U));
    } else {
      for (int64_t j = 0; j < cols; ++j) y[i * to_row + j] = x[i * row + j];
    }
  }
}

// As many elements as a vector of F has lanes, widened to F.
template <class F, class U>
Vector<F> load_wide(const U* p) {
  if constexpr (sizeof(F) == sizeof(U)) {
    return load<F>(p);
  } else {
    typedef U Narrow __attribute__((vector_size(kVectorBytes / sizeof(F) * sizeof(U))));
    Narrow v;
    __builtin_memcpy(&v, p, sizeof(v));
    return __builtin_convertvector(v, Vector<F>);
  }
}

template <class F, int kBytes = kVectorBytes>
F lane_total(const void* lanes) {
  typedef F Part __attribute__((vector_size(kBytes / 2)));
  Part halves[2];
  __builtin_memcpy(halves, lanes, sizeof(halves));
  halves[0] += halves[1];
  if constexpr (kBytes > 16) {
    return lane_total<F, kBytes / 2>(halves);
  } else {
    F total = 0;
    for (size_t i = 0; i < 8 / sizeof(F); ++i) total = static_cast<F>(total + halves[0][i]);
    return total;
  }
}

// Where sums go: of each row `count`, from number `first` on.
struct IntegerOutput {
  void* y;
  int64_t row, col;  // distances in elements
  int64_t first, count;
  bool adds;
};

template <class U, class F>
inline void write_sum(U* y, F sum, bool adds) {
  *y = static_cast<U>((adds ? *y : 0) + sum);
}

// A tile: rows of a, times a panel of b, of S, whose rows lie b_row apart.
template <class F, class U, class S, int kRows, int kVectors>
void multiply_integers(const IntegerOutput& out, const void* a, const void* b, int64_t b_row,
                       int64_t depth) {
  constexpr int64_t kLane = kVectorBytes / sizeof(F);
  const F* const factors = static_cast<const F*>(a);
  const S* panel = static_cast<const S*>(b);
  Vector<F> tile[kRows][kVectors] = {};
  for (int64_t k = 0; k < depth; ++k, panel += b_row) {
    Vector<F> right[kVectors];
    DT_UNROLL
    for (int j = 0; j < kVectors; ++j) right[j] = load_wide<F>(panel + j * kLane);
    DT_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const F factor = factors[i * (kBlockBytes / sizeof(F)) + k];
      DT_UNROLL
      for (int j = 0; j < kVectors; ++j) tile[i][j] += factor * right[j];
    }
  }
  F sums[kRows][kVectors * kLane];
  __builtin_memcpy(sums, tile, sizeof(tile));
  const IntegerOutput to = out;  // which elements of y might lie in, for all that is known
  for (int64_t i = 0; i < kRows; ++i) {
    U* const y = static_cast<U*>(to.y) + i * to.row;
    const F* const from = sums[i] + to.first;
    if (to.col == 1) {
      const U kept = to.adds ? static_cast<U>(-1) : 0;
      for (int64_t j = 0; j < to.count; ++j) y[j] = static_cast<U>((y[j] & kept) + from[j]);
    } else {
      for (int64_t j = 0; j < to.count; ++j) write_sum(y + j * to.col, from[j], to.adds);
    }
  }
}

// A row of a times columns of b whose elements follow each other.
template <class F, class U>
void dot_integers(const IntegerOutput& out, const void* a, const void* b, int64_t b_col,
                  int64_t depth) {
  constexpr int64_t kLane = kVectorBytes / sizeof(F);
  const F* const factors = static_cast<const F*>(a);
  const U* x = static_cast<const U*>(b);
  for (int64_t j = 0; j < out.count; ++j, x += b_col) {
    Vector<F> sums = {};
    int64_t k = 0;
    for (; k + kLane <= depth; k += kLane) sums += load_wide<F>(x + k) * load(factors + k);
    F total = lane_total<F>(&sums);
    for (; k < depth; ++k) total = static_cast<F>(total + uint64_t{factors[k]} * x[k]);
    write_sum(static_cast<U*>(out.y) + j * out.col, total, out.adds);
  }
}

struct IntegerSteps {
  using Multiply = void (*)(const IntegerOutput& out, const void* a, const void* b, int64_t b_step,
                            int64_t depth);
  int64_t bytes, factor_bytes;
  void (*pack)(void* to, int64_t to_row, const void* from, int64_t row, int64_t col, int64_t rows,
               int64_t cols);
  Multiply multiply[2][2];     // some rows, or one; by a panel that is packed, or by b where it is
  Multiply multiply_row, dot;  // one row by b where it is: more columns at a time, or one by one
};

template <class F, class U>
constexpr IntegerSteps kIntegerSteps = {
    sizeof(U),
    sizeof(F),
    pack_integers<F, U>,
    {{multiply_integers<F, U, F, kIntegerRows, 2>, multiply_integers<F, U, U, kIntegerRows, 2>},
     {multiply_integers<F, U, F, 1, 2>, multiply_integers<F, U, U, 1, 2>}},
    multiply_integers<F, U, U, 1, 4>,
    dot_integers<F, U>};

inline IntegerSteps integer_steps(int64_t bytes) {
  return bytes == 1   ? kIntegerSteps<uint16_t, uint8_t>
         : bytes == 2 ? kIntegerSteps<uint16_t, uint16_t>
         : bytes == 4 ? kIntegerSteps<uint32_t, uint32_t>
                      : kIntegerSteps<uint64_t, uint64_t>;
}

template <class Byte>
Byte* element(const Matrices<Byte>& x, int64_t bytes, int64_t batch, int64_t i, int64_t j) {
  return x.data + bytes * (batch * x.batch + i * x.row + j * x.col);
}

// y = a @ b for some rows and columns. Distances of g are in elements. A few rows meet b where it
// is.
void multiply_part(const Gemm<uint8_t>& g, const IntegerSteps& steps, int64_t batch, int64_t i0,
                   int64_t rows, int64_t j0, int64_t cols) {
  alignas(64) uint8_t a[kPartRows * kBlockBytes];
  alignas(64) uint8_t packed[kBlockBytes / sizeof(uint16_t) * kPanelBytes];
  const int64_t panel = kPanelBytes / steps.factor_bytes;
  const bool few_rows = rows <= kRowsInPlace;
  const bool in_columns = few_rows && g.b.row == 1 && (g.b.col != 1 || cols == 1);
  const bool in_rows = few_rows && !in_columns && g.b.col == 1 && cols >= panel;
  const bool is_row = in_columns || (in_rows && rows == 1 && cols >= 2 * panel);
  const int64_t width = is_row ? 2 * panel : panel;
  const int64_t block = in_columns ? kLongBlockBytes : kBlockBytes,
                most = block / steps.factor_bytes;
  for (int64_t k = 0; k == 0 || k < g.k; k += most) {
    const int64_t depth = min(most, g.k - k);
    steps.pack(a, most, element(g.a, steps.bytes, batch, i0, k), g.a.row, g.a.col, rows, depth);
    for (int64_t j = 0; j < cols; j += width) {
      const int64_t count = min(width, cols - j), first = in_rows ? width - count : 0;
      const uint8_t* b = element(g.b, steps.bytes, batch, k, j0 + j - first);
      int64_t b_step = in_columns ? g.b.col : g.b.row;
      if (!in_rows && !in_columns) {
        steps.pack(packed, width, b, g.b.row, g.b.col, depth, count);
        b = packed, b_step = width;
      }
      for (int64_t i = 0, group = 0; i < rows; i += group) {
        group = in_columns || rows - i < kIntegerRows ? 1 : kIntegerRows;
        const auto multiply = in_columns ? steps.dot
                              : is_row   ? steps.multiply_row
                                         : steps.multiply[group == 1][in_rows];
        const IntegerOutput out = {element(g.y, steps.bytes, batch, i0 + i, j0 + j),
                                   g.y.row,
                                   g.y.col,
                                   first,
                                   count,
                                   k > 0};
        multiply(out, a + i * block, b, b_step, depth);
      }
    }
  }
}

// y^T = b^T @ a^T.
Gemm<uint8_t> transposed(const Gemm<uint8_t>& g) {
  Gemm<uint8_t> t = g;
  const auto turn = [](auto x) {
    std::swap(x.row, x.col);
    return x;
  };
  std::swap(t.m, t.n);
  t.a = turn(g.b), t.b = turn(g.a), t.y = turn(g.y), t.c = turn(g.c);
  return t;
}

template <class F>
void with_integer_type(int64_t bytes, const F& f) {
  bytes == 1   ? f(uint8_t{})
  : bytes == 2 ? f(uint16_t{})
  : bytes == 4 ? f(uint32_t{})
               : f(uint64_t{});
}

// y = alpha * y + beta * c for an element; of the factors only the lowest bits count.
__attribute__((noinline)) void combine_integers(void* y, const void* c, int64_t bytes,
                                                uint64_t alpha, uint64_t beta) {
  with_integer_type(bytes, [&](auto type) {
    using U = decltype(type);
    const uint64_t added = c ? beta * *static_cast<const U*>(c) : 0;
    *static_cast<U*>(y) = static_cast<U>(alpha * *static_cast<U*>(y) + added);
  });
}

void run_integer_gemm(const dt_stream* stream, const Gemm<uint8_t>& product, int64_t bytes,
                      int64_t alpha, int64_t beta) {
  const bool few_columns = product.n <= kFewColumns && product.n < product.m;
  const Gemm<uint8_t> g = few_columns ? transposed(product) : product;
  const IntegerSteps steps = integer_steps(bytes);
  const int64_t part_cols = kPartPanels * kPanelBytes / steps.factor_bytes;
  const int64_t down = ceil_div(g.m, kPartRows), across = ceil_div(g.n, part_cols);
  parallel_for(stream, g.batch * down * across, g.batch * g.m * g.n * g.k, [&](int64_t part) {
    const int64_t batch = part / (down * across), within = part % (down * across);
    const int64_t i0 = within / across * kPartRows, j0 = within % across * part_cols;
    const int64_t rows = min(kPartRows, g.m - i0), cols = min(part_cols, g.n - j0);
    multiply_part(g, steps, batch, i0, rows, j0, cols);
    if (alpha == 1 && !g.c.data) return;
    for (int64_t i = i0; i < i0 + rows; ++i) {
      for (int64_t j = j0; j < j0 + cols; ++j)
        combine_integers(element(g.y, bytes, batch, i, j),
                         g.c.data ? element(g.c, bytes, batch, i, j) : nullptr, bytes, alpha, beta);
    }
  });
}

}  // namespace
}  // namespace dt::cpu
