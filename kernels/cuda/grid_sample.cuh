// What places of a grid are made of, as kernels that sample and those of the gradients see it.
#pragma once

#include <type_traits>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/pool_window.cuh"
#include "kernels/grid_sample.h"

namespace dt::cuda {

constexpr int kSampleThreads = 256;
constexpr int kSampledDims = 3;     // at most
constexpr int kSampleChannels = 4;  // of a thread, for which a place's taps are found once

template <class T, class Int>
struct Sampler {
  const T* grid;
  sampling::GridDim<T> axes[kSampledDims];
  Int images, channels, plane, places;
  Divider<Int> by_places;

  // Of a call of either kernel.
  template <class Call>
  Sampler(const Call& call, const dt_view& x, const dt_view& places_of)
      : grid(static_cast<const T*>(places_of.data)),
        images(static_cast<Int>(x.sizes[0])),
        channels(static_cast<Int>(x.sizes[1])),
        plane(1),
        places(1),
        by_places(1) {
    const int dims = x.ndim - 2;
    for (int d = 0; d < dims; ++d) {
      axes[d] = {x.sizes[d + 2], call.reach, call.padding, call.align_corners, dims == 3};
      plane *= static_cast<Int>(x.sizes[d + 2]);
      places *= static_cast<Int>(places_of.sizes[d + 1]);
    }
    by_places = Divider<Int>(places);
  }

  // Blocks for all places, by groups of channels.
  dim3 blocks(int64_t threads, bool by_channels) const {
    constexpr int64_t kMostGroups = 1 << 15;
    const int64_t groups = divide_up(channels, kSampleChannels);
    return dim3(static_cast<unsigned>(divide_up(threads, kSampleThreads)),
                by_channels ? static_cast<unsigned>(min(groups, kMostGroups)) : 1);
  }
};

// 32 bits count everything, and are not a view's extents alone: elements of an image are found from
// the sizes of two.
inline bool is_small_sampling(const dt_view& x, const dt_view& grid, const dt_view& y) {
  return is_small(x) && is_small(grid) && is_small(y);
}

template <int kValue>
using Number = std::integral_constant<int, kValue>;

// f(dimensions, reach of the filter), as constants.
template <class F>
int32_t visit_sampling(int dims, int64_t reach, const F& f) {
  if (dims == 3) return reach == 0 ? f(Number<3>(), Number<0>()) : f(Number<3>(), Number<1>());
  if (reach == 2) return f(Number<2>(), Number<2>());
  return reach == 0 ? f(Number<2>(), Number<0>()) : f(Number<2>(), Number<1>());
}

#ifdef __CUDACC__

// All that a place is made of. Loops over it are unrolled, so that it lies in registers.
template <class T, int kDims, int kReach, class Int>
struct Place {
  static constexpr int kEach = kReach == 0 ? 1 : 2 * kReach;
  static constexpr int kCount = kDims == 3 ? kEach * kEach * kEach : kEach * kEach;

  sampling::Taps<T, Int> of[kDims];

  // The grid's first coordinate is that of the last dimension.
  __device__ __forceinline__ Place(const Sampler<T, Int>& sampler, int64_t place) {
#pragma unroll
    for (int d = 0; d < kDims; ++d) {
      sampling::GridDim<T> axis = sampler.axes[d];
      axis.reach = kReach;
      axis.of_volume = kDims == 3;
      of[d] = axis.template taps<Int>(sampler.grid[place * kDims + kDims - 1 - d]);
    }
  }
  // In a plane; -1: none.
  __device__ __forceinline__ Int offset(const Sampler<T, Int>& sampler, int k) const {
    Int offset = 0;
#pragma unroll
    for (int d = 0; d < kDims; ++d, k /= kEach) {
      const Int at = of[d].at[k % kEach];
      offset = offset < 0 || at < 0 ? -1 : offset * static_cast<Int>(sampler.axes[d].size) + at;
    }
    return offset;
  }
  // The weight of a tap, or its derivative along dimension `sloped`.
  __device__ __forceinline__ T weight(int k, int sloped = -1) const {
    T weight = 1;
#pragma unroll
    for (int d = 0; d < kDims; ++d, k /= kEach)
      weight *= d == sloped ? of[d].slope[k % kEach] : of[d].weight[k % kEach];
    return weight;
  }
};

#endif

}  // namespace dt::cuda
