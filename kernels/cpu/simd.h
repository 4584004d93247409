// Register-level building blocks of matrix products and convolutions: fused multiply-add, partial
// vectors, small transposes. Results that use multiply_add are promised within a tolerance, not bit
// for bit across instruction sets.
#pragma once

#include "kernels/cpu/lanes.h"

#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace dt::cpu {
namespace {

using VectorF32 = Vector<float>;
using VectorF64 = Vector<double>;

template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
inline Vector<T> splat(T x) {
  return x - Vector<T>{};
}

// a * b + c, rounded once where the instruction set can.
inline VectorF32 multiply_add(VectorF32 a, VectorF32 b, VectorF32 c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

inline VectorF64 multiply_add(VectorF64 a, VectorF64 b, VectorF64 c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#else
  return a * b + c;
#endif
}

// 16-byte vectors: small enough that their shuffles are cheap everywhere.

typedef float Quad __attribute__((vector_size(16)));
typedef double Pair __attribute__((vector_size(16)));

inline void transpose(Quad (&r)[4]) {
  const Quad a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5),
             b = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
  const Quad c = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7),
             d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

inline void transpose(Pair (&r)[2]) {
  const Pair a = r[0];
  r[0] = __builtin_shufflevector(a, r[1], 0, 2);
  r[1] = __builtin_shufflevector(a, r[1], 1, 3);
}

// `old` with the first (or the last) half of `even` in its places 0, 2, ...
inline Quad replace_even(Quad even, Quad old, bool last) {
  const Quad twice = last ? __builtin_shufflevector(even, even, 2, 2, 3, 3)
                          : __builtin_shufflevector(even, even, 0, 0, 1, 1);
  return __builtin_shufflevector(twice, old, 0, 5, 2, 7);
}
inline Pair replace_even(Pair even, Pair old, bool last) {
  return last ? __builtin_shufflevector(even, old, 1, 3) : __builtin_shufflevector(even, old, 0, 3);
}

template <class T>
struct SmallVector;
template <>
struct SmallVector<float> {
  using type = Quad;
};
template <>
struct SmallVector<double> {
  using type = Pair;
};

// kRows rows of x become columns of y.
template <int kRows, class T>
inline void copy_few_transposed(T* y, int64_t y_stride, const T* x, int64_t x_stride,
                                int64_t cols) {
  using Block = typename SmallVector<T>::type;
  constexpr int64_t kBlock = 16 / sizeof(T);
  int64_t j = 0;
  for (; j + kBlock <= cols; j += kBlock) {
    Block block[kBlock] = {};
    DT_UNROLL
    for (int64_t r = 0; r < kRows; ++r)
      __builtin_memcpy(&block[r], x + r * x_stride + j, sizeof(Block));
    transpose(block);
    DT_UNROLL
    for (int64_t r = 0; r < kBlock; ++r)
      __builtin_memcpy(y + (j + r) * y_stride, &block[r], kRows * sizeof(T));
  }
  for (; j < cols; ++j) {
    DT_UNROLL
    for (int64_t r = 0; r < kRows; ++r) y[j * y_stride + r] = x[r * x_stride + j];
  }
}

// y[j * y_stride + i] = x[i * x_stride + j] for i < rows, j < cols.
template <class T>
__attribute__((noinline)) void copy_transposed(T* y, int64_t y_stride, const T* x, int64_t x_stride,
                                               int64_t rows, int64_t cols) {
  constexpr int64_t kBlock = 16 / sizeof(T);
  for (; rows >= kBlock; rows -= kBlock, y += kBlock, x += kBlock * x_stride)
    copy_few_transposed<kBlock>(y, y_stride, x, x_stride, cols);
  if (rows >= 2) {
    copy_few_transposed<2>(y, y_stride, x, x_stride, cols);
    rows -= 2, y += 2, x += 2 * x_stride;
  }
  if (rows == 1) copy_few_transposed<1>(y, y_stride, x, x_stride, cols);
}

#if defined(__AVX512F__)
typedef int32_t LaneIndex __attribute__((vector_size(64)));

// In each step, two blocks of `half` rows and columns beside the diagonal change places; then their
// parts.
inline void transpose(VectorF32 (&r)[16]) {
  const LaneIndex lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  DT_UNROLL
  for (int step = 0; step < 4; ++step) {
    const int half = 8 >> step;
    const LaneIndex upper = ((lane & half) != 0) & (16 - half);
    const __m512i low = reinterpret_cast<__m512i>(lane + upper),
                  high = reinterpret_cast<__m512i>(lane + half + upper);
    DT_UNROLL
    for (int i = 0; i < 16; ++i) {
      if (i & half) continue;
      const __m512 a = r[i], b = r[i + half];
      r[i] = _mm512_permutex2var_ps(a, low, b);
      r[i + half] = _mm512_permutex2var_ps(a, high, b);
    }
  }
}

// At most 16 x 16 elements.
inline void copy_block_transposed(float* y, int64_t y_stride, const float* x, int64_t x_stride,
                                  int64_t rows, int64_t cols) {
  VectorF32 block[16];
  DT_UNROLL
  for (int i = 0; i < 16; ++i)
    block[i] = i < rows ? load_first(x + i * x_stride, cols) : VectorF32{};
  transpose(block);
  DT_UNROLL
  for (int j = 0; j < 16; ++j) {
    if (j < cols) store_first(y + j * y_stride, block[j], rows);
  }
}

__attribute__((noinline)) inline void copy_transposed(float* y, int64_t y_stride, const float* x,
                                                      int64_t x_stride, int64_t rows,
                                                      int64_t cols) {
  for (int64_t i = 0; i < rows; i += 16) {
    for (int64_t j = 0; j < cols; j += 16) {
      copy_block_transposed(y + j * y_stride + i, y_stride, x + i * x_stride + j, x_stride,
                            min<int64_t>(16, rows - i), min<int64_t>(16, cols - j));
    }
  }
}
#endif

// The sum of each vector's lanes: sums[i] = v[i][0] + v[i][1] + ... in an order fixed by the lane
// count.
template <class T, int N>
inline void sum_lanes(const Vector<T> (&v)[N], T* sums) {
  using Block = typename SmallVector<T>::type;
  constexpr int kBlock = 16 / sizeof(T);
  DT_UNROLL
  for (int i = 0; i < N; i += kBlock) {
    Block block[kBlock] = {};
    DT_UNROLL
    for (int r = 0; r < kBlock; ++r) {
      if (i + r >= N) continue;
      Block parts[kVectorBytes / 16];
      __builtin_memcpy(parts, &v[i + r], sizeof parts);
      block[r] = parts[0];
      for (int p = 1; p < kVectorBytes / 16; ++p) block[r] += parts[p];
    }
    transpose(block);
    Block total = block[0];
    for (int r = 1; r < kBlock; ++r) total += block[r];
    for (int r = 0; r < kBlock && i + r < N; ++r) sums[i + r] = total[r];
  }
}

}  // namespace
}  // namespace dt::cpu
