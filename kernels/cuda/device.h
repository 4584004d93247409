// What kernels and the rest of the plugin ask of the device that they run on.
#pragma once

#include <cuda_runtime.h>

#include "kernels/abi.h"

namespace dt::cuda {

// Makes `device` the calling thread's device and, at its first use, ready. Costs a comparison when
// it already is (device.cpp).
cudaError_t set_device(int32_t device);
// The stream of a call: the device's main stream when `native` is null (stream.cpp).
cudaStream_t native_stream(const dt_stream* stream);
// DT_KERNEL_OK, or fills the fault with the driver's words. `what` is the function that failed. The
// error is taken off the driver's own note of it, so that no later call reports it again.
int32_t check(cudaError_t error, const char* what, dt_fault* fault);
// How many multiprocessors the device has: grids of persistent blocks are sized by it.
int multiprocessors(int32_t device);

}  // namespace dt::cuda
