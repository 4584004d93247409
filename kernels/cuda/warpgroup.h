// Whether a device has the instructions of warpgroup.cuh and tile_copy.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace dt::cuda {

// Whether the code that the device runs was compiled for sm_90a (warpgroup.cu). No other device has
// its instructions, not even newer ones.
cudaError_t runs_code_for_sm_90a(bool* does);
// The same of a device that has been asked (device.cpp).
bool has_warpgroups(int32_t device);

}  // namespace dt::cuda
