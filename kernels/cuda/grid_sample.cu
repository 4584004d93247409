// Sampling at places of a grid, and the gradient of the places: a thread finds once what a place is
// made of. It samples some channels, or goes through all of them for the gradient. Where places are
// scattered over a plane and it fits, it lies in shared memory meanwhile.
#include "kernels/calls/vision.gen.h"
#include "kernels/cuda/grid_sample.cuh"
#include "kernels/cuda/grid_sample_input.h"
#include "kernels/cuda/grid_sample_staged.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

template <class T, int kDims, int kReach, class Int>
__global__ void __launch_bounds__(kSampleThreads)
    sample(T* y, const T* x, const __grid_constant__ Sampler<T, Int> sampler) {
  begin_kernel();
  using Here = Place<T, kDims, kReach, Int>;
  const Int place = static_cast<Int>(blockIdx.x) * kSampleThreads + static_cast<Int>(threadIdx.x);
  if (place >= sampler.images * sampler.places) return;
  const Int n = sampler.by_places(place), i = place - n * sampler.places;
  const Here here(sampler, place);
  Int offset[Here::kCount];
  T weight[Here::kCount];
#pragma unroll
  for (int k = 0; k < Here::kCount; ++k)
    offset[k] = here.offset(sampler, k), weight[k] = here.weight(k);
  for (Int first = blockIdx.y * kSampleChannels; first < sampler.channels;
       first += gridDim.y * kSampleChannels) {
#pragma unroll
    for (int c = 0; c < kSampleChannels; ++c) {
      if (first + c >= sampler.channels) break;
      const Int channel = n * sampler.channels + first + c;
      const T* const plane = x + channel * sampler.plane;
      T sum = 0;
#pragma unroll
      for (int k = 0; k < Here::kCount; ++k)
        sum += weight[k] * (offset[k] < 0 ? T(0) : plane[offset[k]]);
      y[channel * sampler.places + i] = sum;
    }
  }
}

// Lines of memory in which elements of a warp lie, from which on they are scattered: to read one
// takes a warp as long as to read about a plane's element in shared memory.
constexpr int kScattered = 12;
constexpr int64_t kLineBytes = 128;

// Whether most warps' places are scattered, of some of all the part's, so that all blocks that have
// it find the same.
template <class T, int kDims, int kReach>
__device__ __forceinline__ bool are_scattered(const Sampler<T, int32_t>& sampler,
                                              const StagedBlock& block) {
  constexpr int kLineElements = static_cast<int>(kLineBytes / sizeof(T));
  constexpr unsigned kAll = 0xffffffffu;
  const auto lane = static_cast<int32_t>(threadIdx.x % kWarp);
  const auto warp = static_cast<int32_t>(threadIdx.x / kWarp);
  const int32_t each = (block.end - block.begin) / static_cast<int32_t>(blockDim.x / kWarp);
  const int32_t i = min(block.begin + warp * each + lane, block.end - 1);
  const Place<T, kDims, kReach, int32_t> here(sampler, int64_t{block.image} * sampler.places + i);
  const unsigned same = __match_any_sync(kAll, here.offset(sampler, 0) / kLineElements);
  const int lines = __popc(__ballot_sync(kAll, __ffs(static_cast<int>(same)) - 1 == lane));
  return 2 * __syncthreads_count(lines >= kScattered) > static_cast<int>(blockDim.x);
}

// Samples the block's places in its channels.
template <int kDims, int kReach, class T, int kTogether, bool kIsStaged>
__device__ __forceinline__ void sample_places(
    T* y, const Sampler<T, int32_t>& sampler, const StagedBlock& block,
    const ChannelPlanes<T, kTogether, kIsStaged>& planes) {
  using Here = Place<T, kDims, kReach, int32_t>;
  T* const to =
      y + (int64_t{block.image} * sampler.channels + block.first_channel) * sampler.places;
  const auto threads = static_cast<int32_t>(blockDim.x);
#pragma unroll 1
  for (int32_t i = block.begin + static_cast<int32_t>(threadIdx.x); i < block.end; i += threads) {
    const Here here(sampler, int64_t{block.image} * sampler.places + i);
    Packet<T, kTogether> sums = {};
#pragma unroll
    for (int k = 0; k < Here::kCount; ++k) {
      const int32_t offset = here.offset(sampler, k);
      const T weight = here.weight(k);
      const Packet<T, kTogether> tap = planes.at(max(offset, 0));
#pragma unroll
      for (int c = 0; c < kTogether; ++c)
        sums.value[c] += weight * (offset < 0 ? T(0) : tap.value[c]);
    }
#pragma unroll
    for (int c = 0; c < kTogether; ++c) {
      if (c < planes.count) to[c * sampler.places + i] = sums.value[c];
    }
  }
}

template <int kTogether, bool kIsStaged, class T>
__device__ __forceinline__ ChannelPlanes<T, kTogether, kIsStaged> planes_of(
    const T* x, const Sampler<T, int32_t>& sampler, const StagedBlock& block) {
  const int64_t channel = int64_t{block.image} * sampler.channels + block.first_channel;
  return {x + channel * sampler.plane, sampler.plane,
          min(kTogether, sampler.channels - block.first_channel)};
}

template <class T, int kDims, int kReach, int kTogether>
__global__ void __launch_bounds__(kStagedThreads<T>, 2)
    sample_staged(T* y, const T* x, const __grid_constant__ Sampler<T, int32_t> sampler,
                  const __grid_constant__ Staging staging) {
  begin_kernel();
  const StagedBlock block(staging);
  if (are_scattered<T, kDims, kReach>(sampler, block)) {
    const auto planes = planes_of<kTogether, true>(x, sampler, block);
    planes.stage();
    sample_places<kDims, kReach>(y, sampler, block, planes);
  } else {
    const StagedBlock own = shared_out(block, staging);
    sample_places<kDims, kReach>(y, sampler, own, planes_of<kMostTogether, false>(x, sampler, own));
  }
}

template <class T, int kDims, int kReach, class Int>
__global__ void __launch_bounds__(kSampleThreads)
    grid_gradient(T* ggrid, const T* g, const T* x,
                  const __grid_constant__ Sampler<T, Int> sampler) {
  begin_kernel();
  using Here = Place<T, kDims, kReach, Int>;
  const Int place = static_cast<Int>(blockIdx.x) * kSampleThreads + static_cast<Int>(threadIdx.x);
  if (place >= sampler.images * sampler.places) return;
  const Int n = sampler.by_places(place), i = place - n * sampler.places;
  const Here here(sampler, place);
  Int offset[Here::kCount];
#pragma unroll
  for (int k = 0; k < Here::kCount; ++k) offset[k] = here.offset(sampler, k);
  T sums[kDims] = {};
#pragma unroll 4
  for (Int c = 0; c < sampler.channels; ++c) {
    const Int channel = n * sampler.channels + c;
    const T* const plane = x + channel * sampler.plane;
    const T gradient = g[channel * sampler.places + i];
#pragma unroll
    for (int k = 0; k < Here::kCount; ++k) {
      const T part = gradient * (offset[k] < 0 ? T(0) : plane[offset[k]]);
#pragma unroll
      for (int d = 0; d < kDims; ++d) sums[d] += here.weight(k, d) * part;
    }
  }
#pragma unroll
  for (int d = 0; d < kDims; ++d)
    ggrid[static_cast<int64_t>(place) * kDims + kDims - 1 - d] = sums[d];
}

template <class T, int kDims, int kReach, int kTogether>
int32_t run_staged(const dt_stream* stream, const calls::GridSample& call,
                   const Sampler<T, int32_t>& sampler, const Staging& staging) {
  constexpr auto kKernel = sample_staged<T, kDims, kReach, kTogether>;
  if (const int32_t code = allow_shared<kKernel>(stream, staging.bytes)) return code;
  return launch(stream, kKernel, staging.blocks(sampler.images), dim3(staging.threads),
                static_cast<size_t>(staging.bytes), static_cast<T*>(call.y.data),
                static_cast<const T*>(call.x.data), sampler, staging);
}

// Whether it depends on the places if planes should be staged. Few lines are read as fast, and few
// threads are done before planes are staged.
template <class T>
bool is_worth_staging(int32_t device, const Sampler<T, int32_t>& sampler) {
  constexpr int64_t kThreadsAtOnce = 2048;  // of a multiprocessor
  const int64_t threads = divide_up(sampler.channels, kSampleChannels) * sampler.images;
  return int64_t{sampler.plane} * static_cast<int64_t>(sizeof(T)) > kScattered * kLineBytes &&
         threads * sampler.places > multiprocessors(device) * kThreadsAtOnce;
}

template <class T, int kDims, int kReach, class Int>
int32_t run_sample(const dt_stream* stream, const calls::GridSample& call,
                   const Sampler<T, Int>& sampler) {
  return launch(stream, sample<T, kDims, kReach, Int>,
                sampler.blocks(int64_t{sampler.images} * sampler.places, true),
                dim3(kSampleThreads), 0, static_cast<T*>(call.y.data),
                static_cast<const T*>(call.x.data), sampler);
}

// With planes in shared memory where that may be, fits and is of use.
template <class T, int kDims, int kReach>
int32_t run_small_sample(const dt_stream* stream, const calls::GridSample& call,
                         const Sampler<T, int32_t>& sampler) {
  if constexpr (kMayBeStaged<T, kDims, kReach>) {
    constexpr int64_t kTaps = Place<T, kDims, kReach, int32_t>::kCount;
    const Staging staging(stream->device, sampler.images, sampler.channels, sampler.plane,
                          sampler.places, kTaps * sampler.places, sizeof(T), kStagedThreads<T>);
    if (staging.bytes && is_worth_staging(stream->device, sampler)) {
      if (staging.together == 1)
        return run_staged<T, kDims, kReach, 1>(stream, call, sampler, staging);
      if (staging.together == 2)
        return run_staged<T, kDims, kReach, 2>(stream, call, sampler, staging);
      return run_staged<T, kDims, kReach, kMostTogether>(stream, call, sampler, staging);
    }
  }
  return run_sample<T, kDims, kReach>(stream, call, sampler);
}

template <class T, class Int>
int32_t sample_all(const dt_stream* stream, const calls::GridSample& call) {
  const Sampler<T, Int> sampler(call, call.x, call.grid);
  return visit_sampling(call.x.ndim - 2, call.reach, [&](auto dims, auto reach) {
    constexpr int kDims = decltype(dims)::value, kReach = decltype(reach)::value;
    if constexpr (sizeof(Int) == sizeof(int32_t))
      return run_small_sample<T, kDims, kReach>(stream, call, sampler);
    else
      return run_sample<T, kDims, kReach>(stream, call, sampler);
  });
}

template <class T, class Int>
int32_t run_grid_gradient(const dt_stream* stream, const calls::GridSampleBackward& call) {
  const Sampler<T, Int> sampler(call, call.x, call.grid);
  return visit_sampling(call.x.ndim - 2, call.reach, [&](auto dims, auto reach) {
    return launch(stream, grid_gradient<T, decltype(dims)::value, decltype(reach)::value, Int>,
                  sampler.blocks(int64_t{sampler.images} * sampler.places, false),
                  dim3(kSampleThreads), 0, static_cast<T*>(call.ggrid->data),
                  static_cast<const T*>(call.g.data), static_cast<const T*>(call.x.data), sampler);
  });
}

}  // namespace

int32_t kernels::grid_sample(const dt_stream* stream, const calls::GridSample& call) {
  return visit_floating(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const bool is_small = is_small_sampling(call.x, call.grid, call.y);
    return is_small ? sample_all<T, int32_t>(stream, call) : sample_all<T, int64_t>(stream, call);
  });
}

int32_t kernels::grid_sample_backward(const dt_stream* stream,
                                      const calls::GridSampleBackward& call) {
  if (call.gx) {
    if (const int32_t code = input_gradient(stream, call)) return code;
  }
  if (!call.ggrid) return DT_KERNEL_OK;
  return visit_floating(call.g.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return is_small_sampling(call.x, call.grid, call.g)
               ? run_grid_gradient<T, int32_t>(stream, call)
               : run_grid_gradient<T, int64_t>(stream, call);
  });
}

int64_t kernels::grid_sample_backward_workspace(const dt_stream* stream,
                                                const calls::GridSampleBackward& call) {
  return call.gx ? input_gradient_bytes(stream, call) : 0;
}

}  // namespace dt::cuda
