// Products of few rows of floats of 16 bits: the large operand is widened as it is read, once for
// each row, since a copy of it in floats would take several times as long as the product. Sums are
// floats for all of k and are rounded once, behind the activation.
#pragma once

#include "kernels/cpu/convert.h"
#include "kernels/cpu/halves.h"
#include "kernels/cpu/thin.h"

namespace dt::cpu {
namespace {

// Where elements lie is the same for all types of 16 bits.
struct HalfGemm {
  Gemm<BFloat16> g;
  float alpha, beta;
};

#if defined(__F16C__)

// Of more rows, or of a few and a matrix that the caches hold, a copy in floats costs less than to
// widen for each.
constexpr int64_t kMostHalfRows = 8;

inline bool is_thin_half_dot(const Gemm<BFloat16>& g) {
  const bool is_large = g.n * g.k >= kStreamBytes / int64_t{sizeof(BFloat16)};
  return g.m <= (is_large ? kMostHalfRows : 1) && g.n >= kStreams && g.a.col == 1 && g.b.row == 1;
}

template <class Half>
struct HalfLineProduct {
  using Sum = float;
  static constexpr int64_t kLane = kHalves;

  static void add(Vector<float>* sum, const Half* a, const Half* b) {
    *sum = multiply_add(widen_halves(a), widen_halves(b), *sum);
  }
  __attribute__((noinline)) static Vector<float> add_first(Vector<float> sum, const Half* a,
                                                           const Half* b, int64_t n) {
    return multiply_add(widen_first(a, n), widen_first(b, n), sum);
  }
};

// Of two neighbours in a lane either is a float when the other's bits are gone.
template <>
struct HalfLineProduct<BFloat16> {
  using Sum = float;
  using Bits = Vector<uint32_t>;
  static constexpr int64_t kLane = 2 * kHalves;

  static void add(Vector<float>* sum, const BFloat16* a, const BFloat16* b) {
    Bits left, right;
    __builtin_memcpy(&left, a, sizeof left);
    __builtin_memcpy(&right, b, sizeof right);
    const auto as_floats = [](Bits x) { return reinterpret_cast<Vector<float>>(x); };
    *sum = multiply_add(as_floats(left << 16), as_floats(right << 16), *sum);
    *sum = multiply_add(as_floats(left & 0xffff0000u), as_floats(right & 0xffff0000u), *sum);
  }
  __attribute__((noinline)) static Vector<float> add_first(Vector<float> sum, const BFloat16* a,
                                                           const BFloat16* b, int64_t n) {
    BFloat16 left[kLane] = {}, right[kLane] = {};
    __builtin_memcpy(left, a, static_cast<size_t>(n) * sizeof(BFloat16));
    __builtin_memcpy(right, b, static_cast<size_t>(n) * sizeof(BFloat16));
    add(&sum, left, right);
    return sum;
  }
};

template <class Half>
__attribute__((noinline)) void half_lines(const Gemm<BFloat16>& g, int64_t batch, int64_t i,
                                          int64_t j0, int64_t j1, float* sums) {
  multiply_lines<HalfLineProduct<Half>>(reinterpret_cast<const Half*>(g.a.at(batch, i, 0)),
                                        reinterpret_cast<const Half*>(g.b.at(batch, 0, j0)),
                                        g.b.col, j1 - j0, g.k, sums);
}

// Sums of one row, finished and stored: few enough for a conversion that asks what they become.
inline void store_half_sums(const HalfGemm& product, int32_t dtype, int64_t batch, int64_t i,
                            int64_t j, int64_t cols, float* sums) {
  const Gemm<BFloat16>& g = product.g;
  for (int64_t l = 0; l < cols; ++l) sums[l] *= product.alpha;
  if (g.c.data != nullptr) {
    float c[kMostColumns];
    load_run(c, g.c.at(batch, i, j), dtype, g.c.col, cols);
    for (int64_t l = 0; l < cols; ++l) sums[l] += product.beta * c[l];
  }
  if (g.activation != DT_ACTIVATE_NONE)
    with_activation(g.activation, [&](auto f) { map_in_place<decltype(f)>(sums, cols); });
  store_run(g.y.at(batch, i, j), dtype, g.y.col, sums, cols);
}

// False if it has too many rows, or other strides.
inline bool run_thin_half(const dt_stream* stream, HalfGemm product, int32_t dtype) {
  constexpr int64_t kColsOfRows = 64;  // stay in the second-level cache until they met all rows
  if (!is_thin_half_dot(product.g)) product.g = transposed(product.g);
  if (!is_thin_half_dot(product.g)) return false;
  const Gemm<BFloat16>& g = product.g;
  const auto lines = dtype == dtype_of<BFloat16> ? &half_lines<BFloat16> : &half_lines<Float16>;
  for_each_thin_block(stream, g, true, [&](int64_t batch, int64_t j0, int64_t j1) {
    float sums[kMostColumns];
    const int64_t step = g.m == 1 ? j1 - j0 : kColsOfRows;
    for (int64_t j = j0; j < j1; j += step) {
      const int64_t end = min(j + step, j1);
      for (int64_t i = 0; i < g.m; ++i) {
        lines(g, batch, i, j, end, sums);
        store_half_sums(product, dtype, batch, i, j, end - j, sums);
      }
    }
  });
  return true;
}

#endif

}  // namespace
}  // namespace dt::cpu
