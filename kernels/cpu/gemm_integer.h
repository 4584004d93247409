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

// to[i * to_row + j] = from[i * row + j * col]
template <class F, class U>
void pack_integers(void* to, int64_t to_row, const void* from, int64_t row, int64_t col,
                   int64_t rows, int64_t cols) {
  F* const y = static_cast<F*>(to);
  const U* const x = static_cast<const U*>(from);
  if (col != 1) {
    for (int64_t j = 0; j < cols; ++j) {
      for (int64_t i = 0; i < rows; ++i) y[i * to_row + j] = x[i * row + j * col];
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

// The sums of a tile: some rows of a, times a panel of b whose rows lie b_row apart.
template <class F, int kRows>
void multiply_integers(void* sums, const void* a, const void* b, int64_t b_row, int64_t depth) {
  const F* const factors = static_cast<const F*>(a);
  const F* panel = static_cast<const F*>(b);
  Vector<F> tile[kRows][2] = {};
  for (int64_t k = 0; k < depth; ++k, panel += b_row) {
    const Vector<F> left = load(panel), right = load(panel + kVectorBytes / sizeof(F));
    DT_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const F factor = factors[i * (kBlockBytes / sizeof(F)) + k];
      tile[i][0] += factor * left;
      tile[i][1] += factor * right;
    }
  }
  __builtin_memcpy(sums, tile, sizeof(tile));
}

template <class F, class U>
void add_integers(void* to, const void* sums, int64_t n, bool adds) {
  U* const y = static_cast<U*>(to);
  const F* const x = static_cast<const F*>(sums);
  const U kept = adds ? static_cast<U>(-1) : 0;
  for (int64_t j = 0; j < n; ++j) y[j] = static_cast<U>((y[j] & kept) + x[j]);
}

struct IntegerSteps {
  int64_t bytes, factor_bytes;
  void (*pack)(void* to, int64_t to_row, const void* from, int64_t row, int64_t col, int64_t rows,
               int64_t cols);
  void (*multiply)(void* sums, const void* a, const void* b, int64_t b_row, int64_t depth);
  void (*multiply_row)(void* sums, const void* a, const void* b, int64_t b_row, int64_t depth);
  void (*add)(void* to, const void* sums, int64_t n, bool adds);
};

template <class F, class U>
constexpr IntegerSteps kIntegerSteps = {sizeof(U),
                                        sizeof(F),
                                        pack_integers<F, U>,
                                        multiply_integers<F, kIntegerRows>,
                                        multiply_integers<F, 1>,
                                        add_integers<F, U>};

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

// y = a @ b for some rows and columns. Distances of g are in elements.
void multiply_part(const Gemm<uint8_t>& g, const IntegerSteps& steps, int64_t batch, int64_t i0,
                   int64_t rows, int64_t j0, int64_t cols) {
  alignas(64) uint8_t a[kPartRows * kBlockBytes];
  alignas(64) uint8_t packed[kBlockBytes / sizeof(uint16_t) * kPanelBytes];
  alignas(64) uint8_t sums[kIntegerRows * kPanelBytes];
  const int64_t most = kBlockBytes / steps.factor_bytes, width = kPanelBytes / steps.factor_bytes;
  const bool few_rows = rows <= kRowsInPlace && g.b.col == 1 && steps.factor_bytes == steps.bytes;
  for (int64_t k = 0; k == 0 || k < g.k; k += most) {
    const int64_t depth = min(most, g.k - k);
    steps.pack(a, most, element(g.a, steps.bytes, batch, i0, k), g.a.row, g.a.col, rows, depth);
    for (int64_t j = 0; j < cols; j += width) {
      const int64_t count = min(width, cols - j);
      const uint8_t* b = element(g.b, steps.bytes, batch, k, j0 + j);
      int64_t b_row = g.b.row;
      if (!few_rows || count < width) {
        steps.pack(packed, width, b, g.b.row, g.b.col, depth, count);
        b = packed, b_row = width;
      }
      for (int64_t i = 0, group = 0; i < rows; i += group) {
        group = rows - i < kIntegerRows ? 1 : kIntegerRows;
        const auto multiply = group == 1 ? steps.multiply_row : steps.multiply;
        multiply(sums, a + i * kBlockBytes, b, b_row, depth);
        for (int64_t r = 0; r < group; ++r)
          steps.add(element(g.y, steps.bytes, batch, i0 + i + r, j0 + j), sums + r * kPanelBytes,
                    count, k > 0);
      }
    }
  }
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

void run_integer_gemm(const dt_stream* stream, const Gemm<uint8_t>& g, int64_t bytes, int64_t alpha,
                      int64_t beta) {
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
