// Products of bfloat16 by the instruction for them, AVX512-BF16's vdpbf16ps, where the processor
// has it: a step along k adds two products to each of 16 float sums. What it reads and adds it
// rounds as floats are, but takes subnormal numbers for 0.
//
// Panels of a and b are packed in pairs along k, so that a pair is one 32-bit element. Sums stay in
// registers for all of k and are rounded once, behind the activation.
#pragma once

#include "kernels/calls/linalg.gen.h"
#include "kernels/cpu/gemm_parts.h"
#include "kernels/cpu/thin.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace dt::cpu {
namespace {

struct BrainGemm {
  Gemm<BFloat16> g;
  float alpha, beta;
};

#if defined(__AVX512F__)

#define DT_BRAIN __attribute__((target("avx512bf16")))

constexpr int kBrainRows = 12, kBrainCols = 32;  // of a tile
using BrainPair = uint32_t;                      // two neighbours along k

inline int64_t pairs_of(int64_t k) {
  return ceil_div(k, 2);
}

// dst[p * width + i] is the pair of src[i * lane + 2 * p * along] and its neighbour; zero where
// there is none.
inline void pack_pairs(BrainPair* dst, int64_t width, const BFloat16* src, int64_t lane,
                       int64_t lanes, int64_t along, int64_t k) {
  const auto bits = [&](int64_t i, int64_t at) -> BrainPair {
    return src[i * lane + at * along].bits;
  };
  int64_t p = 0;
  if (along == 1 && lane % 2 == 0 && reinterpret_cast<uintptr_t>(src) % sizeof(float) == 0) {
    copy_transposed(reinterpret_cast<float*>(dst), width, reinterpret_cast<const float*>(src),
                    lane / 2, lanes, k / 2);
    p = k / 2;
  }
  for (; 2 * p < k; ++p) {
    BrainPair* const to = dst + p * width;
    if (2 * p + 1 < k) {
      for (int64_t i = 0; i < lanes; ++i) to[i] = bits(i, 2 * p) | bits(i, 2 * p + 1) << 16;
    } else {
      for (int64_t i = 0; i < lanes; ++i) to[i] = bits(i, 2 * p);
    }
  }
  for (p = 0; lanes < width && 2 * p < k; ++p) {
    for (int64_t i = lanes; i < width; ++i) dst[p * width + i] = 0;
  }
}

DT_BRAIN inline __m512 add_products(__m512 sums, BrainPair a, __m512i b) {
  return _mm512_dpbf16_ps(sums, reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a))),
                          reinterpret_cast<__m512bh>(b));
}

// The sums of a tile, from packed panels.
DT_BRAIN __attribute__((noinline)) void brain_tile(int64_t pairs, const BrainPair* a,
                                                   const BrainPair* b, float (*sums)[kBrainCols]) {
  __m512 tile[kBrainRows][2];
  DT_UNROLL
  for (int i = 0; i < kBrainRows; ++i) tile[i][0] = tile[i][1] = _mm512_setzero_ps();
  for (int64_t p = 0; p < pairs; ++p, a += kBrainRows, b += kBrainCols) {
    const __m512i left = _mm512_loadu_si512(b), right = _mm512_loadu_si512(b + kLanes<float>);
    DT_UNROLL
    for (int i = 0; i < kBrainRows; ++i) {
      tile[i][0] = add_products(tile[i][0], a[i], left);
      tile[i][1] = add_products(tile[i][1], a[i], right);
    }
  }
  DT_UNROLL
  for (int i = 0; i < kBrainRows; ++i) {
    _mm512_storeu_ps(sums[i], tile[i][0]);
    _mm512_storeu_ps(sums[i] + kLanes<float>, tile[i][1]);
  }
}

// y = activation(alpha * sums + beta * c), for neighbouring columns of a row.
inline void finish_sums(const BrainGemm& product, int64_t batch, int64_t i, int64_t j, int64_t cols,
                        float* sums) {
  const Gemm<BFloat16>& g = product.g;
  for (int64_t l = 0; l < cols; ++l) sums[l] *= product.alpha;
  if (g.c.data != nullptr) {
    const BFloat16* const c = g.c.at(batch, i, j);
    for (int64_t l = 0; l < cols; ++l) sums[l] += product.beta * static_cast<float>(c[l * g.c.col]);
  }
  with_activation(g.activation, [&](auto f) { map_in_place<decltype(f)>(sums, 1, cols); });
  BFloat16* const y = g.y.at(batch, i, j);
  for (int64_t l = 0; l < cols; ++l) y[l] = BFloat16(sums[l]);
}

// How many rows of a are packed at a time: b is packed again for each block of them, and a block
// should stay in a cache.
inline int64_t brain_block(const Gemm<BFloat16>& g) {
  constexpr int64_t kMostRows = 40 * kBrainRows, kMostElements = int64_t{1} << 21;
  const int64_t rows = max<int64_t>(1, kMostElements / max<int64_t>(1, g.k));
  return ceil_div(min(min(rows, kMostRows), g.m), kBrainRows) * kBrainRows;
}

struct BrainScratch {
  BrainPair *a, *b;

  BrainScratch(const Gemm<BFloat16>& g, Workspace* workspace)
      : a(workspace->take<BrainPair>(brain_block(g) * pairs_of(g.k))),
        b(workspace->take<BrainPair>(kBrainCols * pairs_of(g.k))) {}
};

// Rows [i0, i1) of a matrix, which one block holds.
inline void multiply_brain_rows(const BrainGemm& product, const BrainScratch& scratch,
                                int64_t batch, int64_t i0, int64_t i1) {
  const Gemm<BFloat16>& g = product.g;
  const int64_t pairs = pairs_of(g.k);
  for (int64_t i = i0; i < i1; i += kBrainRows) {
    pack_pairs(scratch.a + (i - i0) * pairs, kBrainRows, g.a.at(batch, i, 0), g.a.row,
               min<int64_t>(kBrainRows, i1 - i), g.a.col, g.k);
  }
  for (int64_t j = 0; j < g.n; j += kBrainCols) {
    const int64_t cols = min<int64_t>(kBrainCols, g.n - j);
    pack_pairs(scratch.b, kBrainCols, g.b.at(batch, 0, j), g.b.col, cols, g.b.row, g.k);
    for (int64_t i = i0; i < i1; i += kBrainRows) {
      alignas(64) float sums[kBrainRows][kBrainCols];
      brain_tile(pairs, scratch.a + (i - i0) * pairs, scratch.b, sums);
      for (int64_t r = i; r < min(i + kBrainRows, i1); ++r)
        finish_sums(product, batch, r, j, cols, sums[r - i]);
    }
  }
}

inline void run_brain_part(const BrainGemm& product, Workspace workspace) {
  const Gemm<BFloat16>& g = product.g;
  const BrainScratch scratch(g, &workspace);
  const int64_t rows = brain_block(g);
  for (int64_t batch = 0; batch < g.batch; ++batch) {
    for (int64_t i = 0; i < g.m; i += rows)
      multiply_brain_rows(product, scratch, batch, i, min(i + rows, g.m));
  }
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

// The same for one row and lines that come from memory, one after the other: see is_stream.
DT_BRAIN __attribute__((noinline)) void brain_stream(const Gemm<BFloat16>& g, int64_t batch,
                                                     int64_t j, int64_t cols, float* sums) {
  constexpr int64_t kLane = 32, kStep = kStreamSums * kLane;
  const BFloat16* const a = g.a.at(batch, 0, 0);
  __m512 tile[kBrainDotCols];
  for (int64_t c = 0; c < kBrainDotCols; ++c) {
    const BFloat16* const b = g.b.at(batch, 0, j + min(c, cols - 1));
    __m512 parts[kStreamSums] = {};
    for (int64_t k = 0; k < g.k; k += kStep) {
      DT_UNROLL
      for (int i = 0; i < kStreamSums; ++i) {
        const int64_t at = k + i * kLane, left = g.k - at;
        const __mmask32 mask = left >= kLane ? ~__mmask32{0}
                               : left > 0    ? (__mmask32{1} << left) - 1
                                             : 0;
        parts[i] = _mm512_dpbf16_ps(
            parts[i], reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(mask, a + at)),
            reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(mask, b + at)));
      }
    }
    tile[c] = (parts[0] + parts[1]) + (parts[2] + parts[3]);
  }
  sum_lanes<float>(tile, sums);
}

inline void run_brain_dots(const dt_stream* stream, const BrainGemm& product) {
  const Gemm<BFloat16>& g = product.g;
  const int64_t groups = ceil_div(g.n, kBrainDotCols);
  const bool streams = is_stream(g);
  parallel_for(stream, g.batch * groups, g.batch * g.n * g.m * g.k / 16, [&](int64_t item) {
    const int64_t batch = item / groups, j = item % groups * kBrainDotCols;
    const int64_t cols = min<int64_t>(kBrainDotCols, g.n - j);
    float sums[kBrainDotRows][kBrainDotCols];
    streams    ? brain_stream(g, batch, j, cols, sums[0])
    : g.m == 1 ? brain_dots<1>(g, batch, j, cols, sums)
               : brain_dots<kBrainDotRows>(g, batch, j, cols, sums);
    for (int64_t i = 0; i < g.m; ++i) finish_sums(product, batch, i, j, cols, sums[i]);
  });
}

// ---- the whole product

// Cut as a product of floats of the same sizes.
inline GemmParts cut_brain(const dt_stream* stream, const Gemm<BFloat16>& g) {
  Gemm<float> shape = {};
  shape.batch = g.batch, shape.m = g.m, shape.n = g.n, shape.k = g.k;
  return cut_gemm(stream, shape);
}

// For any part: the first is the largest, since only the last of a row or column is cut short.
inline int64_t brain_part_workspace(const Gemm<BFloat16>& g, const GemmParts& parts) {
  Workspace workspace(nullptr);
  BrainScratch(part_at(g, parts, 0, 0, 0), &workspace);
  return workspace.bytes();
}

inline int64_t brain_workspace(const dt_stream* stream, const BrainGemm& product) {
  if (is_brain_dot(product.g)) return 0;
  const GemmParts parts = cut_brain(stream, product.g);
  return min<int64_t>(parts.count(), stream->threads) * brain_part_workspace(product.g, parts);
}

inline void run_brain(const dt_stream* stream, const BrainGemm& product, Workspace workspace) {
  if (is_brain_dot(product.g)) return run_brain_dots(stream, product);
  const GemmParts parts = cut_brain(stream, product.g);
  const int64_t bytes = brain_part_workspace(product.g, parts);
  char* const scratch = workspace.take<char>(0);
  for_each_item(stream, parts.count(), true, [&](int64_t index, int64_t worker) {
    const int64_t row = index % parts.row_parts, rest = index / parts.row_parts;
    BrainGemm part = product;
    part.g = part_at(product.g, parts, rest / parts.col_parts, row, rest % parts.col_parts);
    run_brain_part(part, Workspace(scratch + worker * bytes));
  });
}

#undef DT_BRAIN

#endif

}  // namespace
}  // namespace dt::cpu
