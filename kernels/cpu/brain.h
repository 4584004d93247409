// Products of bfloat16 by the processor's instructions for them: brain_tile.h. Sums are floats for
// all of k and are rounded once, behind the activation.
#pragma once

#include "kernels/calls/linalg.gen.h"
#include "kernels/cpu/brain_tile.h"
#include "kernels/cpu/gemm_parts.h"
#include "kernels/cpu/thin_halves.h"
#include "kernels/cpu_flags.h"

namespace dt::cpu {
namespace {

#if defined(__AVX512F__)

DT_BRAIN inline void round_sums(BFloat16* y, const float* sums, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    const auto mask = static_cast<__mmask16>(first_halves(n - i));
    _mm256_mask_storeu_epi16(y + i, mask, load_halves(sums + i, n - i));
  }
}

// y = activation(alpha * sums + beta * c), for neighbouring columns of a row.
inline void finish_sums(const HalfGemm& product, int64_t batch, int64_t i, int64_t j, int64_t cols,
                        float* sums) {
  const Gemm<BFloat16>& g = product.g;
  if (product.alpha != 1) {
    for (int64_t l = 0; l < cols; ++l) sums[l] *= product.alpha;
  }
  if (g.c.data != nullptr) {
    const BFloat16* const c = g.c.at(batch, i, j);
    for (int64_t l = 0; l < cols; ++l) sums[l] += product.beta * static_cast<float>(c[l * g.c.col]);
  }
  if (g.activation != DT_ACTIVATE_NONE)
    with_activation(g.activation, [&](auto f) { map_in_place<decltype(f)>(sums, cols); });
  round_sums(g.y.at(batch, i, j), sums, cols);
}

constexpr int64_t kBrainK =
    512;  // of a panel of b that is packed at a time, for a first-level cache

// How many rows of a are packed at a time: b is packed again for each block of them, and a block
// should stay in a second-level cache.
template <class Tile>
int64_t brain_block(const Gemm<BFloat16>& g) {
  constexpr int64_t kMostRows = 1024, kMostElements = int64_t{3} << 18;
  const int64_t rows = max<int64_t>(1, min(kMostRows, kMostElements / max<int64_t>(1, g.k)));
  return ceil_div(min(rows, g.m), Tile::kRows) * Tile::kRows;
}

template <class Tile>
struct BrainScratch {
  BrainPair *a, *b;
  float* sums;

  BrainScratch(const Gemm<BFloat16>& g, Workspace* workspace) {
    const int64_t rows = brain_block<Tile>(g);
    a = workspace->take<BrainPair>(rows * Tile::row_of(packed_pairs<Tile>(g.k)));
    b = workspace->take<BrainPair>(kBrainCols * packed_pairs<Tile>(min(kBrainK, g.k)));
    sums = workspace->take<float>(rows * kBrainCols);
  }
};

// Rows [i0, i1) of a matrix, which one block holds packed, and columns from j on. A tile's sums are
// finished as soon as they are complete: only those that wait for more of k have memory of their
// own.
template <class Tile>
void multiply_brain_panel(const HalfGemm& product, const BrainScratch<Tile>& scratch, int64_t batch,
                          int64_t i0, int64_t i1, int64_t j) {
  const Gemm<BFloat16>& g = product.g;
  const int64_t a_pairs = packed_pairs<Tile>(g.k), cols = min(kBrainCols, g.n - j);
  int64_t k = 0;
  do {  // once even if k is empty
    const int64_t count = min(kBrainK, g.k - k), pairs = packed_pairs<Tile>(count);
    pack_pairs(scratch.b, kBrainCols, g.b.at(batch, k, j), g.b.col, cols, g.b.row, count, pairs);
    for (int64_t i = i0; i < i1; i += Tile::kRows) {
      float* const sums = scratch.sums + (g.k > kBrainK ? (i - i0) * kBrainCols : 0);
      const auto a =
          Tile::rows_at(scratch.a + (i - i0) * Tile::row_of(a_pairs), g.a.col, a_pairs, k / 2);
      Tile::multiply(pairs, a, scratch.b, sums, k > 0);
      if (k + count < g.k) continue;
      for (int64_t r = i; r < min(i + Tile::kRows, i1); ++r)
        finish_sums(product, batch, r, j, cols, sums + (r - i) * kBrainCols);
    }
    k += kBrainK;
  } while (k < g.k);
}

template <class Tile>
void multiply_brain_rows(const HalfGemm& product, const BrainScratch<Tile>& scratch, int64_t batch,
                         int64_t i0, int64_t i1) {
  const Gemm<BFloat16>& g = product.g;
  const int64_t pairs = packed_pairs<Tile>(g.k);
  for (int64_t i = i0; i < i1; i += Tile::kRows) {
    Tile::pack_a(scratch.a + (i - i0) * Tile::row_of(pairs), g.a.at(batch, i, 0), g.a.row,
                 min<int64_t>(Tile::kRows, i1 - i), g.a.col, g.k, pairs);
  }
  for (int64_t j = 0; j < g.n; j += kBrainCols)
    multiply_brain_panel(product, scratch, batch, i0, i1, j);
}

template <class Tile>
void run_brain_part(const HalfGemm& product, Workspace workspace) {
  const Gemm<BFloat16>& g = product.g;
  const BrainScratch<Tile> scratch(g, &workspace);
  const int64_t rows = brain_block<Tile>(g);
  Tile::begin();
  for (int64_t batch = 0; batch < g.batch; ++batch) {
    for (int64_t i = 0; i < g.m; i += rows)
      multiply_brain_rows(product, scratch, batch, i, min(i + rows, g.m));
  }
  Tile::end();
}

// ---- few rows of a, and k contiguous in a and b: inner products, without packing

constexpr int64_t kBrainDotRows = 4, kBrainDotCols = 4;

inline bool is_brain_dot(const Gemm<BFloat16>& g) {
  return g.m <= kBrainDotRows && g.a.col == 1 && g.b.row == 1;
}

// sums[i][j] for up to kRows rows i and kBrainDotCols columns j; lines beyond the last repeat it.
template <int kRows>
DT_BRAIN __attribute__((noinline)) void brain_dots(const Gemm<BFloat16>& g, int64_t batch,
                                                   int64_t j, int64_t cols,
                                                   float (*sums)[kBrainDotCols]) {
  constexpr int64_t kStep = 32;
  const BFloat16 *a[kRows], *b[kBrainDotCols];
  for (int64_t i = 0; i < kRows; ++i) a[i] = g.a.at(batch, min<int64_t>(i, g.m - 1), 0);
  for (int64_t c = 0; c < kBrainDotCols; ++c) b[c] = g.b.at(batch, 0, j + min(c, cols - 1));
  __m512 tile[kRows][kBrainDotCols];
  DT_UNROLL
  for (int i = 0; i < kRows; ++i) {
    DT_UNROLL
    for (int c = 0; c < kBrainDotCols; ++c) tile[i][c] = _mm512_setzero_ps();
  }
  for (int64_t k = 0; k < g.k; k += kStep) {
    const __mmask32 mask = g.k - k >= kStep ? ~__mmask32{0} : (__mmask32{1} << (g.k - k)) - 1;
    __m512i left[kRows];
    DT_UNROLL
    for (int i = 0; i < kRows; ++i) left[i] = _mm512_maskz_loadu_epi16(mask, a[i] + k);
    DT_UNROLL
    for (int c = 0; c < kBrainDotCols; ++c) {
      const __m512i right = _mm512_maskz_loadu_epi16(mask, b[c] + k);
      DT_UNROLL
      for (int i = 0; i < kRows; ++i) {
        tile[i][c] = _mm512_dpbf16_ps(tile[i][c], reinterpret_cast<__m512bh>(left[i]),
                                      reinterpret_cast<__m512bh>(right));
      }
    }
  }
  for (int i = 0; i < kRows; ++i) sum_lanes<float>(tile[i], sums[i]);
}

struct BrainLineProduct {
  using Sum = float;
  static constexpr int64_t kLane = 32;

  DT_BRAIN static void add(Vector<float>* sum, const BFloat16* a, const BFloat16* b) {
    *sum = _mm512_dpbf16_ps(*sum, reinterpret_cast<__m512bh>(_mm512_loadu_si512(a)),
                            reinterpret_cast<__m512bh>(_mm512_loadu_si512(b)));
  }
  DT_BRAIN static Vector<float> add_first(Vector<float> sum, const BFloat16* a, const BFloat16* b,
                                          int64_t n) {
    const __mmask32 mask = first_halves(n);
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(mask, a)),
                            reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(mask, b)));
  }
};

DT_BRAIN __attribute__((noinline)) void brain_lines(const Gemm<BFloat16>& g, int64_t batch,
                                                    int64_t j0, int64_t j1, float* sums) {
  multiply_lines<BrainLineProduct>(g.a.at(batch, 0, 0), g.b.at(batch, 0, j0), g.b.col, j1 - j0, g.k,
                                   sums);
}

inline void run_brain_dots(const dt_stream* stream, const HalfGemm& product) {
  const Gemm<BFloat16>& g = product.g;
  for_each_thin_block(stream, g, true, [&](int64_t batch, int64_t j0, int64_t j1) {
    if (is_stream(g)) {
      float sums[kMostColumns];
      brain_lines(g, batch, j0, j1, sums);
      return finish_sums(product, batch, 0, j0, j1 - j0, sums);
    }
    for (int64_t j = j0; j < j1; j += kBrainDotCols) {
      const int64_t cols = min<int64_t>(kBrainDotCols, j1 - j);
      float sums[kBrainDotRows][kBrainDotCols];
      g.m == 1 ? brain_dots<1>(g, batch, j, cols, sums)
               : brain_dots<kBrainDotRows>(g, batch, j, cols, sums);
      for (int64_t i = 0; i < g.m; ++i) finish_sums(product, batch, i, j, cols, sums[i]);
    }
  });
}

// ---- the whole product

// Cut as a product of floats of the same sizes, in whole tiles.
template <class Tile>
GemmParts cut_brain(const dt_stream* stream, const Gemm<BFloat16>& g) {
  Gemm<float> shape = {};
  shape.batch = g.batch, shape.m = g.m, shape.n = g.n, shape.k = g.k;
  GemmParts parts = cut_gemm(stream, shape);
  parts.rows = ceil_div(parts.rows, Tile::kRows) * Tile::kRows;
  parts.row_parts = ceil_div(g.m, parts.rows);
  return parts;
}

// For any part: the first is the largest, since only the last of a row or column is cut short.
template <class Tile>
int64_t brain_part_workspace(const Gemm<BFloat16>& g, const GemmParts& parts) {
  Workspace workspace(nullptr);
  BrainScratch<Tile>(part_at(g, parts, 0, 0, 0), &workspace);
  return workspace.bytes();
}

template <class F>
auto with_brain_tile(const dt_stream* stream, const F& f) {
  return (stream->flags & DT_FLAG_AMX_BF16) != 0 ? f(BrainTiles()) : f(BrainVectors());
}

inline int64_t brain_workspace(const dt_stream* stream, const HalfGemm& product) {
  if (is_brain_dot(product.g)) return 0;
  return with_brain_tile(stream, [&](auto tile) {
    using Tile = decltype(tile);
    const GemmParts parts = cut_brain<Tile>(stream, product.g);
    return min<int64_t>(parts.count(), stream->threads) *
           brain_part_workspace<Tile>(product.g, parts);
  });
}

inline void run_brain(const dt_stream* stream, const HalfGemm& product, Workspace workspace) {
  if (is_brain_dot(product.g)) return run_brain_dots(stream, product);
  char* const scratch = workspace.take<char>(0);
  with_brain_tile(stream, [&](auto tile) {
    using Tile = decltype(tile);
    const GemmParts parts = cut_brain<Tile>(stream, product.g);
    const int64_t bytes = brain_part_workspace<Tile>(product.g, parts);
    for_each_item(stream, parts.count(), true, [&](int64_t index, int64_t worker) {
      const int64_t row = index % parts.row_parts, rest = index / parts.row_parts;
      HalfGemm part = product;
      part.g = part_at(product.g, parts, rest / parts.col_parts, row, rest % parts.col_parts);
      run_brain_part<Tile>(part, Workspace(scratch + worker * bytes));
    });
  });
}

#undef DT_BRAIN
#undef DT_AMX

#endif

}  // namespace
}  // namespace dt::cpu
