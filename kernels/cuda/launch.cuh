// How kernels are started.
#pragma once

#include <cuda_runtime.h>

#include "kernels/abi.h"
#include "kernels/cuda/device.h"

namespace dt::cuda {

constexpr int kWarp = 32;

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
