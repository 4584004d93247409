// What parts of a head's keys give, until they are merged (arXiv 1805.02867, 2311.01282).
#pragma once

#include <math.h>
#include <stdint.h>

namespace dt::cuda {

// The weights of some keys, relative to 2^top, and the sums of values with them.
struct Share {
  float top = -INFINITY, total = 0;

  // The factors that make two shares relative to the larger top.
  __device__ __forceinline__ void merge(float other_top, float other_total, float* mine,
                                        float* other) {
    const float most = fmaxf(top, other_top), shift = most == -INFINITY ? 0.0f : most;
    *mine = exp2f(top - shift);
    *other = exp2f(other_top - shift);
    total = total * *mine + other_total * *other;
    top = most;
  }
};

// Shares of a head's keys in memory: top and total of each, and behind them all sums.
struct Shares {
  float* data;
  int count, features;

  __device__ __forceinline__ float* of(int64_t i) const { return data + i * (features + 2); }
};

// The sum of all shares for a feature, relative to what `all` becomes.
__device__ __forceinline__ float merge_shares(const Shares& shares, int feature, Share* all) {
  float most = -INFINITY;
#pragma unroll 4
  for (int i = 0; i < shares.count; ++i) most = fmaxf(most, shares.of(i)[0]);
  const float shift = most == -INFINITY ? 0.0f : most;
  float sum = 0, total = 0;
#pragma unroll 4
  for (int i = 0; i < shares.count; ++i) {
    const float* const share = shares.of(i);
    const float weight = exp2f(share[0] - shift);
    total += share[1] * weight;
    sum += share[2 + feature] * weight;
  }
  all->top = most;
  all->total = total;
  return sum;
}

}  // namespace dt::cuda
