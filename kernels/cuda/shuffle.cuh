// Values from other lanes of a warp, all of whose threads come here.
#pragma once

#include <stdint.h>

#include <type_traits>

#include "kernels/cuda/launch.cuh"

namespace dt::cuda {
namespace {

constexpr uint32_t kAllLanes = 0xffffffffu;

// A number, or a struct of two, by `move`, which moves a number.
template <class T, class Move>
__device__ __forceinline__ T moved(const T& value, Move move) {
  if constexpr (std::is_arithmetic_v<T>) {
    return move(value);
  } else {
    const auto& [first, second] = value;
    return {move(first), move(second)};
  }
}

// That of the lane `step` below, and of lane `source`, among kLanes neighbours.
template <int kLanes, class T>
__device__ __forceinline__ T shuffle_up(const T& value, int step) {
  return moved(value, [=](auto x) { return __shfl_up_sync(kAllLanes, x, step, kLanes); });
}
template <int kLanes, class T>
__device__ __forceinline__ T shuffle(const T& value, int source) {
  return moved(value, [=](auto x) { return __shfl_sync(kAllLanes, x, source, kLanes); });
}

}  // namespace
}  // namespace dt::cuda
