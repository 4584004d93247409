// What multiplies bfloat16 at the bottom of a product, where the processor has instructions for it:
// vdpbf16ps of AVX512-BF16, a step of which adds two products to each of 16 float sums, or
// tdpbf16ps of AMX, which multiplies tiles of 16 x 32 and 32 x 16. Both read and add numbers
// rounded as floats are, but take subnormal ones for 0.
//
// Both read b in panels of pairs along k, so that a pair is one 32-bit element. Either says how it
// reads a, and how much of k it takes at a time: what is packed is filled up with zeros.
#pragma once

#include "kernels/cpu/simd.h"

#if defined(__AVX512F__)
#include <immintrin.h>

namespace dt::cpu {
namespace {

#define DT_BRAIN __attribute__((target("avx512bf16")))
#define DT_AMX __attribute__((target("amx-tile,amx-bf16")))

constexpr int64_t kBrainCols = 32;  // of a panel of b
using BrainPair = uint32_t;         // two neighbours along k

inline __mmask32 first_halves(int64_t n) {
  return n >= 32 ? ~__mmask32{0} : n > 0 ? (__mmask32{1} << n) - 1 : 0;
}

// 16 pairs of neighbours in one row, which floats are rounded to.
template <class From>
DT_BRAIN inline VectorF32 load_pairs(const From* row, int64_t n) {
  const __mmask32 mask = first_halves(n);
  if constexpr (std::is_same_v<From, float>) {
    const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), row);
    const __m512 high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), row + 16);
    return reinterpret_cast<VectorF32>(_mm512_cvtne2ps_pbh(high, low));
  } else {
    return reinterpret_cast<VectorF32>(_mm512_maskz_loadu_epi16(mask, row));
  }
}

template <class From>
DT_BRAIN inline __m256i load_halves(const From* row, int64_t n) {
  const auto mask = static_cast<__mmask16>(first_halves(n));
  if constexpr (std::is_same_v<From, float>) {
    return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, row)));
  } else {
    return _mm256_maskz_loadu_epi16(mask, row);
  }
}

// 16 pairs of which one half is in a row and the other in the next.
inline __m512i interleave(__m256i low, __m256i high) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(low),
                         _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
}

template <class From>
DT_BRAIN void pack_rows_of_pairs(BrainPair* dst, int64_t width, const From* src, int64_t lanes,
                                 int64_t along, int64_t k, int64_t pairs) {
  for (int64_t i = 0; i < width; i += 16) {
    const auto room = static_cast<__mmask16>(first_halves(width - i));
    const From* row = src + i;
    for (int64_t p = 0; p < pairs; ++p, row += 2 * along) {
      const __m256i low = load_halves(row, 2 * p < k ? lanes - i : 0);
      const __m256i high = load_halves(row + along, 2 * p + 1 < k ? lanes - i : 0);
      _mm512_mask_storeu_epi32(dst + p * width + i, room, interleave(low, high));
    }
  }
}

template <class From>
DT_BRAIN void pack_columns_of_pairs(BrainPair* dst, int64_t width, const From* src, int64_t lane,
                                    int64_t lanes, int64_t k, int64_t pairs) {
  for (int64_t i = 0; i < width; i += 16) {
    const auto room = static_cast<__mmask16>(first_halves(width - i));
    for (int64_t p = 0; p < pairs; p += 16) {
      VectorF32 block[16];
      DT_UNROLL
      for (int64_t j = 0; j < 16; ++j)
        block[j] = load_pairs(src + (i + j) * lane + 2 * p, i + j < lanes ? k - 2 * p : 0);
      transpose(block);
      DT_UNROLL
      for (int64_t j = 0; j < 16; ++j) {
        if (p + j < pairs) _mm512_mask_storeu_ps(dst + (p + j) * width + i, room, block[j]);
      }
    }
  }
}

// dst[p * width + i] is the pair of src[i * lane + 2 * p * along] and its neighbour; zero where
// there is none.
template <class From>
__attribute__((noinline)) void pack_pairs(BrainPair* dst, int64_t width, const From* src,
                                          int64_t lane, int64_t lanes, int64_t along, int64_t k,
                                          int64_t pairs) {
  if (along == 1) return pack_columns_of_pairs(dst, width, src, lane, lanes, k, pairs);
  if (lane == 1) return pack_rows_of_pairs(dst, width, src, lanes, along, k, pairs);
  const auto bits = [&](int64_t i, int64_t at) -> BrainPair {
    return i < lanes && at < k ? BFloat16(src[i * lane + at * along]).bits : 0;
  };
  for (int64_t p = 0; p < pairs; ++p) {
    for (int64_t i = 0; i < width; ++i)
      dst[p * width + i] = bits(i, 2 * p) | bits(i, 2 * p + 1) << 16;
  }
}

// Where the sums of a tile of vectors go: y (+)= alpha * sums, whose rows lie `row` apart.
struct BrainOutput {
  float* y;
  int64_t row, cols;
  float alpha;
  bool adds;
};

// Rows of pairs, as a tile of vectors reads them: pair p of row i is data[i * row + p * pair].
struct BrainRows {
  const BrainPair* data;
  int64_t row, pair;
};

// Sums stay in vectors; each pair of a is spread over one. So a's rows stay rows where they are
// contiguous, and are packed as b is elsewhere.
struct BrainVectors {
  static constexpr int64_t kRows = 12, kPairs = 1;

  static void begin() {}
  static void end() {}

  // Distance of two rows that are packed as rows: an odd number of lines of a cache, since those of
  // an even one may crowd into a few of its sets.
  static int64_t row_of(int64_t pairs) { return (ceil_div(pairs, 16) | 1) * 16; }

  // Fits into row_of(pairs) for each of kRows rows.
  template <class From>
  DT_BRAIN static void pack_a(BrainPair* dst, const From* src, int64_t row, int64_t rows,
                              int64_t col, int64_t k, int64_t pairs) {
    if (col != 1) return pack_pairs(dst, kRows, src, row, rows, col, k, pairs);
    const int64_t distance = row_of(pairs);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t p = 0; p < pairs; p += 16)
        store(reinterpret_cast<float*>(dst + i * distance + p),
              load_pairs(src + i * row + 2 * p, k - 2 * p));
    }
  }

  // What pack_a made of so many pairs, from one of them on.
  static BrainRows rows_at(const BrainPair* packed, int64_t col, int64_t pairs, int64_t first) {
    if (col != 1) return {packed + first * kRows, 1, kRows};
    return {packed + first, row_of(pairs), 1};
  }

  // sums [kRows, kBrainCols] (+)= a @ b.
  static void multiply(int64_t pairs, const BrainRows& a, const BrainPair* b, float* sums,
                       bool adds) {
    multiply(kRows, pairs, a, b, {sums, kBrainCols, kBrainCols, 1, adds});
  }

  // The sums of `rows` rows of a, some of which are there, with a panel of b.
  static void multiply(int64_t rows, int64_t pairs, const BrainRows& a, const BrainPair* b,
                       const BrainOutput& out) {
    if (rows > 8) {
      multiply_rows<12>(rows, pairs, a, b, out);
    } else if (rows > 4) {
      multiply_rows<8>(rows, pairs, a, b, out);
    } else {
      multiply_rows<4>(rows, pairs, a, b, out);
    }
  }

 private:
  // Rows of a beyond those that are there are read, but their sums are not written.
  template <int kCount>
  DT_BRAIN __attribute__((noinline)) static void multiply_rows(int64_t rows, int64_t pairs,
                                                               const BrainRows& a,
                                                               const BrainPair* b,
                                                               const BrainOutput& out) {
    constexpr int kGroup = 4, kGroups = kCount / kGroup;  // rows that share a pointer
    const BrainPair* group[kGroups];
    for (int g = 0; g < kGroups; ++g) group[g] = a.data + g * kGroup * a.row;
    VectorF32 sums[kCount][2] = {};
    for (int64_t p = 0; p < pairs; ++p, b += kBrainCols) {
      const auto left = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b));
      const auto right = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + 16));
      DT_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const BrainPair pair = group[i / kGroup][i % kGroup * a.row];
        const auto both = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(pair)));
        sums[i][0] = _mm512_dpbf16_ps(sums[i][0], both, left);
        sums[i][1] = _mm512_dpbf16_ps(sums[i][1], both, right);
      }
      DT_UNROLL
      for (int g = 0; g < kGroups; ++g) group[g] += a.pair;
    }
    const auto first = static_cast<__mmask16>(first_halves(min<int64_t>(out.cols, 16))),
               second = static_cast<__mmask16>(first_halves(out.cols - 16));
    const VectorF32 alpha = splat(out.alpha);
    float* y = out.y;
    DT_UNROLL
    for (int i = 0; i < kCount; ++i) {
      if (i < rows) {
        VectorF32 low = sums[i][0] * alpha, high = sums[i][1] * alpha;
        if (out.adds) {
          low += _mm512_maskz_loadu_ps(first, y);
          high += _mm512_maskz_loadu_ps(second, y + 16);
        }
        _mm512_mask_storeu_ps(y, first, low);
        _mm512_mask_storeu_ps(y + 16, second, high);
      }
      y += out.row;
    }
  }
};

// The compiler is not told by the instructions of tiles what memory they read.
inline void will_read(const void* p) {
  asm volatile("" : : "r"(p) : "memory");
}

// Two by two tiles of sums, of which each step reads two of a and two of b. a is packed in pieces
// of kPairs pairs: in each, the rows follow each other.
struct BrainTiles {
  static constexpr int64_t kRows = 32, kPairs = 16, kPiece = kRows * kPairs;

  static int64_t row_of(int64_t pairs) { return pairs; }
  static const BrainPair* rows_at(const BrainPair* packed, int64_t, int64_t, int64_t first) {
    return packed + first * kRows;
  }

  DT_AMX static void begin() {
    struct alignas(64) Shapes {
      uint8_t palette = 1, first_row = 0, unused[14] = {};
      uint16_t bytes_of_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } shapes;
    will_read(&shapes);
    _tile_loadconfig(&shapes);
  }
  DT_AMX static void end() { _tile_release(); }

  template <class From>
  DT_BRAIN static void pack_a(BrainPair* dst, const From* src, int64_t row, int64_t rows,
                              int64_t col, int64_t k, int64_t pairs) {
    for (int64_t p = 0; p < pairs; p += kPairs, dst += kPiece) {
      if (col == 1) {
        for (int64_t i = 0; i < kRows; ++i) {
          store(reinterpret_cast<float*>(dst + i * kPairs),
                load_pairs(src + i * row + 2 * p, i < rows ? k - 2 * p : 0));
        }
        continue;
      }
      BrainPair turned[kPiece];
      pack_pairs(turned, kRows, src + 2 * p * col, row, rows, col, k - 2 * p, kPairs);
      copy_transposed(reinterpret_cast<float*>(dst), kPairs, reinterpret_cast<float*>(turned),
                      kRows, kPairs, kRows);
    }
  }

  // sums [kRows, kBrainCols], whose rows lie `row` apart, (+)= a @ b.
  DT_AMX __attribute__((noinline)) static void multiply(int64_t pairs, const BrainPair* a,
                                                        const BrainPair* b, float* sums, bool adds,
                                                        int64_t row = kBrainCols) {
    constexpr int64_t kRow = kBrainCols * sizeof(float);  // bytes, of b
    const int64_t sums_row = row * static_cast<int64_t>(sizeof(float));
    float *const right = sums + 16, *const below = sums + 16 * row;
    will_read(a), will_read(b), will_read(sums);
    if (adds) {
      _tile_loadd(0, sums, sums_row);
      _tile_loadd(1, right, sums_row);
      _tile_loadd(2, below, sums_row);
      _tile_loadd(3, below + 16, sums_row);
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
    for (int64_t p = 0; p < pairs; p += kPairs, a += kPiece, b += kPairs * kBrainCols) {
      _tile_loadd(4, a, 64);
      _tile_loadd(6, b, kRow);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(7, b + 16, kRow);
      _tile_dpbf16ps(1, 4, 7);
      _tile_loadd(5, a + kPiece / 2, 64);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, sums_row);
    _tile_stored(1, right, sums_row);
    _tile_stored(2, below, sums_row);
    _tile_stored(3, below + 16, sums_row);
  }
};

template <class Tile>
int64_t packed_pairs(int64_t k) {
  return ceil_div(k, 2 * Tile::kPairs) * Tile::kPairs;
}

}  // namespace
}  // namespace dt::cpu

#endif
