// Blocks that have much dynamic shared memory, and blocks that stay and walk over the work.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch.cuh"

namespace dt::cuda {

// Bytes that a multiprocessor has for the blocks on it (device.cpp).
int64_t shared_memory(int32_t device);

constexpr int64_t kSharedPerBlock = 1024;  // of which CUDA keeps this much for each block

#ifdef __CUDACC__
// Lets blocks of a kernel have more than the 48 KiB that they get unasked.
template <class... Parameters>
int32_t allow_shared(const dt_stream* stream, void (*kernel)(Parameters...), int64_t bytes) {
  if (bytes <= 48 * 1024) return DT_KERNEL_OK;
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  return check(error, "cudaFuncSetAttribute", stream->fault);
}
#endif

// How many blocks with `bytes` of shared memory each the device holds at once, if a multiprocessor
// holds `most` of them otherwise; 0 if a block asks for too much.
inline int64_t resident_blocks(int32_t device, int64_t most, int64_t bytes) {
  const int64_t fitting = shared_memory(device) / (bytes + kSharedPerBlock);
  return std::min(most, fitting) * multiprocessors(device);
}

}  // namespace dt::cuda
