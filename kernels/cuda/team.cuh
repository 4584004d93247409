// Teams: the threads that handle one row together. A team of up to 32 threads is a part of a warp,
// a larger one is a block.
#pragma once

#include <stdint.h>

#include "kernels/cuda/launch.cuh"

namespace dt::cuda {

template <int kSize>
struct Team {
  static_assert((kSize & (kSize - 1)) == 0 && kSize <= 1024, "a team is a power of two");
  static constexpr int size = kSize;
  static constexpr int block = kSize < 128 ? 128 : kSize;
  static constexpr int per_block = block / kSize;

  static __device__ __forceinline__ int rank() { return static_cast<int>(threadIdx.x % kSize); }
  // Which of the block's teams this is.
  static __device__ __forceinline__ int number() { return static_cast<int>(threadIdx.x / kSize); }
};

// A value of the lane whose number differs by the bits of `mask`.
template <class T>
__device__ __forceinline__ T exchange(const T& value, int mask) {
  static_assert(sizeof(T) % sizeof(int) == 0, "values travel as words");
  int words[sizeof(T) / sizeof(int)];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / sizeof(int)); ++i)
    words[i] = __shfl_xor_sync(0xffffffffu, words[i], mask);
  T other;
  memcpy(&other, words, sizeof(T));
  return other;
}

// Merges the values of groups of kLanes lanes; merge(a, b) gets the value of lower lanes first, so
// all lanes get the same bits even if it is not exactly commutative.
template <int kLanes, class T, class Merge>
__device__ __forceinline__ T lanes_reduce(T value, const Merge& merge) {
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) {
    const T other = exchange(value, step);
    value = threadIdx.x & step ? merge(other, value) : merge(value, other);
  }
  return value;
}

// Merges the values of a team in a fixed order; every thread of it gets the result. All threads of
// the block must take part.
template <int kSize, class T, class Merge>
__device__ __forceinline__ T team_reduce(T value, const Merge& merge) {
  constexpr int kLanes = kSize < 32 ? kSize : 32, kWarps = kSize / 32;
  value = lanes_reduce<kLanes>(value, merge);
  if constexpr (kWarps > 1) {
    __shared__ T partial[kWarps];
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = lanes_reduce<kWarps>(partial[threadIdx.x % kWarps], merge);
    __syncthreads();  // `partial` may be written again
  }
  return value;
}

template <int kSize, class T>
__device__ __forceinline__ T team_sum(T value) {
  return team_reduce<kSize>(value, [](T a, T b) { return a + b; });
}

// The sum of the warp's lanes up to this one.
template <class T>
__device__ __forceinline__ T inclusive_over_lanes(T value) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const T before = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value += before;
  }
  return value;
}

}  // namespace dt::cuda
