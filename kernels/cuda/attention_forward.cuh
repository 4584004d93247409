// What attention's kernels of values share: what a warp knows of its rows while keys pass by, and
// what it makes of that when they have.
#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_dropout.cuh"

namespace dt::cuda {

// The largest number among the lanes that share a row, and their sum.
__device__ __forceinline__ float largest_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
__device__ __forceinline__ float sum_of_row(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}

// What a lane knows of its two rows: the largest score so far and its share of the sum of
// exponentials.
struct RowState {
  float top[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
};

// Says what sums of the lane's two rows, queries of a head from `first` on, are to be multiplied
// by, and writes the logarithms of the sums of exponentials to `lse` [batch, heads, queries], if
// any.
__device__ __forceinline__ void end_rows(float (&factor)[2], const RowState& state,
                                         const WeightDropout& dropout, float* lse, int heads,
                                         int queries, int b, int h, int first) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float total = sum_of_row(state.total[half]);
    const int query = first + lane_group() + 8 * half;
    factor[half] = total == 0 ? 0.0f : dropout.factor() / total;
    if (lse == nullptr || lane_pair() != 0 || query >= queries) continue;
    lse[(int64_t{b} * heads + h) * queries + query] =
        total == 0 ? INFINITY : state.top[half] / kLog2E + logf(total);
  }
}

}  // namespace dt::cuda
