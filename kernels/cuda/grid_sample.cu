// Sampling at places of a grid, and the gradient of the places: a thread finds once what a place is
// made of. It samples some channels, whose planes lie in shared memory where they fit there, or
// goes through all of them for the gradient.
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

template <class T, int kDims, int kReach, int kTogether>
__global__ void __launch_bounds__(kStagedThreads)
    sample_staged(T* y, const T* x, const __grid_constant__ Sampler<T, int32_t> sampler,
                  const __grid_constant__ Staging staging) {
  begin_kernel();
  using Here = Place<T, kDims, kReach, int32_t>;
  const StagedBlock block(staging);
  const int64_t channel = int64_t{block.image} * sampler.channels + block.first_channel;
  const ChannelPlanes<T, kTogether, true> planes = {
      x + channel * sampler.plane, sampler.plane,
      min(kTogether, sampler.channels - block.first_channel)};
  planes.stage();
  const auto threads = static_cast<int32_t>(blockDim.x);
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
    T* const to = y + channel * sampler.places + i;
#pragma unroll
    for (int c = 0; c < kTogether; ++c) {
      if (c < planes.count) to[int64_t{c} * sampler.places] = sums.value[c];
    }
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

template <class T>
int32_t run_sample_staged(const dt_stream* stream, const calls::GridSample& call,
                          const Staging& staging) {
  const Sampler<T, int32_t> sampler(call, call.x, call.grid);
  return visit_sampling(call.x.ndim - 2, call.reach, [&](auto dims, auto reach) {
    constexpr int kDims = decltype(dims)::value, kReach = decltype(reach)::value;
    if (staging.together == 1)
      return run_staged<T, kDims, kReach, 1>(stream, call, sampler, staging);
    if (staging.together == 2)
      return run_staged<T, kDims, kReach, 2>(stream, call, sampler, staging);
    return run_staged<T, kDims, kReach, kMostTogether>(stream, call, sampler, staging);
  });
}

template <class T, class Int>
int32_t run_sample(const dt_stream* stream, const calls::GridSample& call) {
  const Sampler<T, Int> sampler(call, call.x, call.grid);
  return visit_sampling(call.x.ndim - 2, call.reach, [&](auto dims, auto reach) {
    return launch(stream, sample<T, decltype(dims)::value, decltype(reach)::value, Int>,
                  sampler.blocks(int64_t{sampler.images} * sampler.places, true),
                  dim3(kSampleThreads), 0, static_cast<T*>(call.y.data),
                  static_cast<const T*>(call.x.data), sampler);
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
    if (!is_small_sampling(call.x, call.grid, call.y)) return run_sample<T, int64_t>(stream, call);
    const Sampler<T, int32_t> sampler(call, call.x, call.grid);
    const int64_t taps = call.reach == 0 ? 1 : int64_t{1} << (call.x.ndim - 2) * call.reach;
    const Staging staging(stream->device, sampler.images, sampler.channels, sampler.plane,
                          sampler.places, taps * sampler.places, sizeof(T));
    return staging.bytes ? run_sample_staged<T>(stream, call, staging)
                         : run_sample<T, int32_t>(stream, call);
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
