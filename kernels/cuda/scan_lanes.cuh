// What the lanes of a warp hold, joined from the first one to the last: scans (scan.cu) and their
// gradients (scan_backward.cu). A Fold says how: identity(), and combine(before, after), which need
// not commute.
#pragma once

#include "kernels/cuda/shuffle.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ int lane_number() {
  return static_cast<int>(threadIdx.x % kWarp);
}

// What the lanes up to this one give together. kLanes that are neighbours are by themselves.
template <class Fold, int kLanes = kWarp, class Sum>
__device__ __forceinline__ Sum inclusive(Sum value) {
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) {
    const Sum before = shuffle_up<kLanes>(value, step);
    if (lane_number() % kLanes >= step) value = Fold::combine(before, value);
  }
  return value;
}

// What the lanes before give, from the inclusive values.
template <class Fold, int kLanes = kWarp, class Sum>
__device__ __forceinline__ Sum exclusive(Sum inclusive) {
  const Sum before = shuffle_up<kLanes>(inclusive, 1);
  return lane_number() % kLanes == 0 ? Fold::identity() : before;
}

}  // namespace
}  // namespace dt::cuda
