// From a logical index to the offsets of strided operands.
#pragma once

#include <stdint.h>

#include "kernels/abi.h"
#include "kernels/cuda/axes.cuh"

namespace dt::cuda {

// n / d by a multiplication and a shift, for n < 2^31 (Granlund and Montgomery, "Division by
// invariant integers using multiplication", 1994).
struct FastDivide {
  uint32_t divisor = 1, multiplier = 1, shift = 0;

  FastDivide() = default;
  // An axis of no elements is never divided by.
  explicit FastDivide(uint32_t d) : divisor(d) {
    if (d == 0) return;
    while (shift < 32 && (uint64_t{1} << shift) < d) ++shift;
    multiplier = static_cast<uint32_t>((uint64_t{1} << 32) * ((uint64_t{1} << shift) - d) / d + 1);
  }
  __device__ __forceinline__ uint32_t divide(uint32_t n) const {
    return (__umulhi(n, multiplier) + n) >> shift;
  }
};

// The offsets, in elements, of `kOperands` operands at a logical row-major index. `Index` is
// uint32_t unless the call is larger than kMaxIndex32 elements; `Offset` may be int32_t where no
// operand reaches farther (see fits_32_bits).
template <int kOperands, class Index, class Offset = int64_t>
struct Offsets {
  int ndim = 0;
  FastDivide fast[DT_MAX_DIMS];
  Index sizes[DT_MAX_DIMS];
  Offset strides[DT_MAX_DIMS][kOperands];

  Offsets() = default;

  // Sizes are those of views[0]; every view has as many dimensions.
  explicit Offsets(const dt_view* const (&views)[kOperands]) : ndim(views[0]->ndim) {
    for (int d = 0; d < ndim; ++d) {
      set_size(d, views[0]->sizes[d]);
      for (int k = 0; k < kOperands; ++k) strides[d][k] = static_cast<Offset>(views[k]->strides[d]);
    }
  }

  explicit Offsets(const Axes<kOperands>& axes) : ndim(axes.n) {
    for (int d = 0; d < ndim; ++d) {
      set_size(d, axes.size[d]);
      for (int k = 0; k < kOperands; ++k) strides[d][k] = static_cast<Offset>(axes.stride[d][k]);
    }
  }

  __device__ __forceinline__ void at(Index index, Offset (&offsets)[kOperands]) const {
#pragma unroll
    for (int k = 0; k < kOperands; ++k) offsets[k] = 0;
#pragma unroll 1  // few calls have many axes, and every kernel holds this loop
    for (int d = ndim - 1; d > 0; --d) {
      Index quotient;
      if constexpr (sizeof(Index) == 4)
        quotient = fast[d].divide(index);
      else
        quotient = index / sizes[d];
      add(index - quotient * sizes[d], d, offsets);
      index = quotient;
    }
    // What is left is the outermost coordinate: most calls have one axis and divide nothing.
    if (ndim > 0) add(index, 0, offsets);
  }

 private:
  void set_size(int d, int64_t size) {
    sizes[d] = static_cast<Index>(size);
    // The outermost axis is never divided by.
    if (sizeof(Index) == 4 && d > 0) fast[d] = FastDivide(static_cast<uint32_t>(size));
  }

  __device__ __forceinline__ void add(Index coordinate, int d, Offset (&offsets)[kOperands]) const {
#pragma unroll
    for (int k = 0; k < kOperands; ++k)
      offsets[k] += static_cast<Offset>(coordinate) * strides[d][k];
  }
};

}  // namespace dt::cuda
