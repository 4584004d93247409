#include "kernels/cuda/warpgroup.h"

#include "kernels/cuda/launch.cuh"

namespace dt::cuda {
namespace {

// Code for sm_90a is known by how many threads this may have: nothing else tells it from code for
// sm_90.
constexpr int kThreadsOfSm90a = 64;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr int kProbeThreads = kThreadsOfSm90a;
#else
constexpr int kProbeThreads = 32;
#endif

__global__ void __launch_bounds__(kProbeThreads) probe() {
  begin_kernel();
}

}  // namespace

cudaError_t runs_code_for_sm_90a(bool* does) {
  cudaFuncAttributes attributes = {};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, probe);
  *does = !error && attributes.maxThreadsPerBlock == kThreadsOfSm90a;
  return error;
}

}  // namespace dt::cuda
