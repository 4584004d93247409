// Blocks that have much dynamic shared memory, and blocks that stay and walk over the work.
#pragma once

#include <algorithm>
#include <atomic>

#include "kernels/cuda/launch.cuh"

namespace dt::cuda {

// Bytes that a multiprocessor has for the blocks on it (device.cpp).
int64_t shared_memory(int32_t device);

constexpr int64_t kSharedPerBlock = 1024;  // of which CUDA keeps this much for each block
// What a launch gets unasked: 48 KiB, of which 1 for what a kernel declares; what is more is asked.
constexpr int64_t kSharedUnasked = 47 * 1024;

#ifdef __CUDACC__
// Lets blocks of a kernel have more than they get unasked: all that the device has.
// The limit belongs to the kernel, not to a launch: were it what each call needs, another thread
// could lower it before this one launches.
template <class... Parameters>
cudaError_t allow_most_shared(int32_t device, void (*kernel)(Parameters...)) {
  cudaError_t error = set_device(device);
  int most = 0;
  if (!error)
    error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  cudaFuncAttributes found = {};
  if (!error) error = cudaFuncGetAttributes(&found, kernel);
  if (error) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              most - static_cast<int>(found.sharedSizeBytes));
}

// The same once for each device, where a call needs it.
template <auto kKernel>
int32_t allow_shared(const dt_stream* stream, int64_t bytes) {
  static std::atomic<uint64_t> allowed{0};  // a bit for each device
  static_assert(kMaxDevices <= 64, "a bit for each device");
  const uint64_t bit = uint64_t{1} << stream->device;
  if (bytes <= kSharedUnasked || (allowed & bit) != 0) return DT_KERNEL_OK;
  const cudaError_t error = allow_most_shared(stream->device, kKernel);
  if (!error) allowed |= bit;
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
