// From a logical index to the offsets of strided operands.
#pragma once

#include <stdint.h>

#include "kernels/abi.h"

namespace dt::cuda {

// n / d by a multiplication and a shift, for n < 2^31 (Granlund and Montgomery, "Division by
// invariant integers using multiplication", 1994).
struct FastDivide {
  uint32_t divisor = 1, multiplier = 1, shift = 0;

  FastDivide() = default;
  explicit FastDivide(uint32_t d) : divisor(d) {
    while (shift < 32 && (uint64_t{1} << shift) < d) ++shift;
    multiplier = static_cast<uint32_t>((uint64_t{1} << 32) * ((uint64_t{1} << shift) - d) / d + 1);
  }
  __device__ __forceinline__ uint32_t divide(uint32_t n) const {
    return (__umulhi(n, multiplier) + n) >> shift;
  }
};

// The offsets, in elements, of `kOperands` operands at a logical row-major index. `Index` is
// uint32_t unless the call is larger than kMaxIndex32 elements (see needs_64_bits).
template <int kOperands, class Index>
struct Offsets {
  int ndim = 0;
  FastDivide fast[DT_MAX_DIMS];
  Index sizes[DT_MAX_DIMS];
  int64_t strides[DT_MAX_DIMS][kOperands];

  // Sizes are those of views[0]; every view has as many dimensions.
  explicit Offsets(const dt_view* const (&views)[kOperands]) : ndim(views[0]->ndim) {
    for (int d = 0; d < ndim; ++d) {
      sizes[d] = static_cast<Index>(views[0]->sizes[d]);
      if constexpr (sizeof(Index) == 4) fast[d] = FastDivide(static_cast<uint32_t>(sizes[d]));
      for (int k = 0; k < kOperands; ++k) strides[d][k] = views[k]->strides[d];
    }
  }

  __device__ __forceinline__ void at(Index index, int64_t (&offsets)[kOperands]) const {
#pragma unroll
    for (int k = 0; k < kOperands; ++k) offsets[k] = 0;
    for (int d = ndim - 1; d >= 0; --d) {
      Index quotient;
      if constexpr (sizeof(Index) == 4)
        quotient = fast[d].divide(index);
      else
        quotient = index / sizes[d];
      const Index rest = index - quotient * sizes[d];
      index = quotient;
#pragma unroll
      for (int k = 0; k < kOperands; ++k) offsets[k] += static_cast<int64_t>(rest) * strides[d][k];
    }
  }
};

constexpr int64_t kMaxIndex32 = (int64_t{1} << 31) - 1;

}  // namespace dt::cuda
