// Sums and maxima over the threads of a warp and of a block, in an order fixed by the block's
// shape.
#pragma once

#include <stdint.h>

namespace dt::cuda {

// Combines the values of a warp; every lane gets the result. `combine` must be commutative.
template <class T, class F>
__device__ __forceinline__ T warp_reduce(T value, F combine) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

// The same over a block of kThreads (a multiple of 32, at most 1024); every thread gets the result.
// May be called again at once.
template <int kThreads, class T, class F>
__device__ __forceinline__ T block_reduce(T value, F combine, T identity) {
  constexpr int kWarps = kThreads / 32;
  if constexpr (kWarps == 1) return warp_reduce(value, combine);
  __shared__ T partial[kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_reduce(value, combine);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = warp_reduce(lane < kWarps ? partial[lane] : identity, combine);
  __syncthreads();
  return value;
}

}  // namespace dt::cuda
