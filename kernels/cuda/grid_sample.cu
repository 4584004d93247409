// Sampling at places of a grid, and the gradient of the places: a thread finds once what a place is
// made of. It samples some channels, or goes through all of them for the gradient.
#include "kernels/calls/vision.gen.h"
#include "kernels/cuda/grid_sample.cuh"
#include "kernels/cuda/grid_sample_input.h"
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
    return is_small_sampling(call.x, call.grid, call.y) ? run_sample<T, int32_t>(stream, call)
                                                        : run_sample<T, int64_t>(stream, call);
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
