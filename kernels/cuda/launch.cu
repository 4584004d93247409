// What the plugin's code for a device can do.
#include "kernels/cuda/launch.cuh"

namespace dt::cuda {

namespace {

__global__ void probe() {
  begin_kernel();
}

}  // namespace

// All kernels are compiled for the same targets, so one stands for all. Asking the device would be
// wrong: newer ones than Hopper have the instructions, but run the code for compute_80.
cudaError_t runs_code_for_sm_90(bool* does) {
  cudaFuncAttributes attributes = {};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, probe);
  *does = !error && attributes.ptxVersion >= 90;
  return error;
}

}  // namespace dt::cuda
