// Sampling at places of a grid: a thread for each place, which goes through all channels.
#include "kernels/calls/vision.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/types.cuh"
#include "kernels/grid_sample.h"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMaxDims = 3;

template <class T>
struct Sampler {
  T* y;
  const T *x, *grid;
  sampling::GridDim<T> axes[kMaxDims];
  int dims;
  int64_t images, channels, plane, places;
};

template <class T>
__global__ void __launch_bounds__(kThreads) sample(const __grid_constant__ Sampler<T> call) {
  begin_kernel();
  const int64_t place = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (place >= call.images * call.places) return;
  const int64_t n = place / call.places, i = place % call.places;
  const int64_t each = call.axes[0].count();
  sampling::Taps<T> of[kMaxDims];
  int64_t taps = 1;
  // The grid's first coordinate is that of the last dimension.
  for (int d = 0; d < call.dims; ++d, taps *= each)
    of[d] = call.axes[d].taps(call.grid[place * call.dims + call.dims - 1 - d]);
  for (int64_t c = 0; c < call.channels; ++c) {
    const T* plane = call.x + (n * call.channels + c) * call.plane;
    T sum = 0;
    for (int64_t k = 0; k < taps; ++k) {
      int64_t offset = 0, rest = k;
      T weight = 1;
      for (int d = 0; d < call.dims; ++d, rest /= each) {
        const int64_t tap = rest % each, at = of[d].at[tap];
        offset = offset < 0 || at < 0 ? -1 : offset * call.axes[d].size + at;
        weight *= of[d].weight[tap];
      }
      sum += weight * (offset < 0 ? T(0) : plane[offset]);
    }
    call.y[(n * call.channels + c) * call.places + i] = sum;
  }
}

}  // namespace

int32_t kernels::grid_sample(const dt_stream* stream, const calls::GridSample& call) {
  return visit_floating(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const dt_view &x = call.x, &grid = call.grid;
    Sampler<T> kernel = {static_cast<T*>(call.y.data),
                         static_cast<const T*>(x.data),
                         static_cast<const T*>(grid.data),
                         {},
                         x.ndim - 2,
                         x.sizes[0],
                         x.sizes[1],
                         1,
                         1};
    for (int d = 0; d < kernel.dims; ++d) {
      kernel.axes[d] = {x.sizes[d + 2], call.reach, call.padding, call.align_corners,
                        kernel.dims == 3};
      kernel.plane *= x.sizes[d + 2];
      kernel.places *= grid.sizes[d + 1];
    }
    const int64_t blocks = divide_up(kernel.images * kernel.places, kThreads);
    return launch(stream, sample<T>, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0,
                  kernel);
  });
}

// Elements that many places are made of are written by sorted writes, in one order: the
// composition has them.
int32_t kernels::grid_sample_backward(const dt_stream*, const calls::GridSampleBackward&) {
  return DT_KERNEL_UNSUPPORTED;
}

}  // namespace dt::cuda
