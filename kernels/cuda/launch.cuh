// How kernels are started, and how what the driver says becomes a fault.
#pragma once

#include <cuda_runtime.h>

#include "kernels/abi.h"

namespace dt::cuda {

constexpr int kWarp = 32;

// Makes `device` the calling thread's device (device.cpp). Costs a comparison when it already is.
cudaError_t set_device(int32_t device);
// The stream of a call (stream.cpp): the device's main stream when `native` is null.
cudaStream_t native_stream(const dt_stream* stream);
// DT_KERNEL_OK, or fills the fault with the driver's words (device.cpp).
int32_t check(cudaError_t error, const char* what, dt_fault* fault);
// How many multiprocessors the device has: grids of persistent blocks are sized by it.
int multiprocessors(int32_t device);

#ifdef __CUDACC__
// Runs kernel<<<grid, block, shared>>>(arguments...) on the call's stream. An empty grid is no
// work.
template <class... Parameters, class... Arguments>
int32_t launch(const dt_stream* stream, void (*kernel)(Parameters...), dim3 grid, dim3 block,
               size_t shared, const Arguments&... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return DT_KERNEL_OK;
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  kernel<<<grid, block, shared, native_stream(stream)>>>(arguments...);
  return check(cudaGetLastError(), "kernel launch", stream->fault);
}
#endif

inline int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

inline int64_t numel(const dt_view& v) {
  int64_t n = 1;
  for (int d = 0; d < v.ndim; ++d) n *= v.sizes[d];
  return n;
}

}  // namespace dt::cuda
