// How kernels are started, and how what the driver says becomes a fault.
#pragma once

#include <cuda_runtime.h>

#include "kernels/abi.h"

namespace dt::cuda {

constexpr int kWarp = 32;
constexpr int kMaxDevices = 64;

// Makes `device` the calling thread's device (device.cpp). Costs a comparison when it already is.
cudaError_t set_device(int32_t device);
// The stream of a call (stream.cpp): the device's main stream when `native` is null.
cudaStream_t native_stream(const dt_stream* stream);
// DT_KERNEL_OK, or fills the fault with the driver's words (device.cpp).
int32_t check(cudaError_t error, const char* what, dt_fault* fault);
// How many multiprocessors the device has: grids of persistent blocks are sized by it.
int multiprocessors(int32_t device);

// ---- starting before the predecessor has finished

// The gap between two kernels of a captured step is longer than many of the kernels: the next one
// is only sent to the multiprocessors when the last one is done. Hopper can hide it ("programmatic
// dependent launch"): blocks of the next kernel come as soon as every block of this one has said
// that they may, and wait where they are until this one is done and its memory can be seen.
//
// What makes that safe: every kernel of ours waits before it touches memory, so it sees what its
// predecessor wrote, and that one had waited for its own predecessor: when it is done, so is all
// that was sent before. scripts/lint.py sees to it that no kernel forgets. Kernels of libraries
// are started in the ordinary way, and so wait for ours as a whole.

// A grid of more blocks starts in the ordinary way: blocks that come early are put where there is
// room, many on one multiprocessor, and a kernel that fills the device runs longer for it.
constexpr int64_t kFewBlocks = 32;

// Whether the next kernel on the stream may start early (capture.cpp).
bool may_start_early(int32_t device, cudaStream_t stream);
// Whether the code that the device runs was compiled for sm_90 or newer (launch.cu). It has the
// instructions of begin_kernel and of clusters; the code for sm_80, and what a driver makes of it
// for other devices, has neither.
cudaError_t runs_code_for_sm_90(bool* does);

#ifdef __CUDACC__
// Every kernel calls this before it uses memory. What it can work out from its parameters alone
// may come first: it is done while the predecessor runs. The kernel lets its own successor come at
// once: blocks of the successor are placed only when no block of this kernel is left to place, so
// they take no room from it, and waiting costs them no cycles.
__device__ __forceinline__ void begin_kernel() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}

// For the first of several kernels that one op sends: it lets its successor come when all that was
// sent before it is done. What the later ones do not get from each other they may then read at
// once, before they begin_kernel().
__device__ __forceinline__ void begin_chain() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

template <class... Parameters, class... Arguments>
cudaError_t start_early(cudaStream_t stream, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                        size_t shared, const Arguments&... arguments) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

// `early`: before its predecessor is done, where the device can.
template <class... Parameters, class... Arguments>
int32_t launch(bool early, const dt_stream* stream, void (*kernel)(Parameters...), dim3 grid,
               dim3 block, size_t shared, const Arguments&... arguments) {
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  const cudaStream_t order = native_stream(stream);
  if (early && may_start_early(stream->device, order))
    return check(start_early(order, kernel, grid, block, shared, arguments...), "kernel launch",
                 stream->fault);
  kernel<<<grid, block, shared, order>>>(arguments...);
  return check(cudaGetLastError(), "kernel launch", stream->fault);
}

// Runs kernel<<<grid, block, shared>>>(arguments...) on the call's stream. An empty grid is no
// work.
template <class... Parameters, class... Arguments>
int32_t launch(const dt_stream* stream, void (*kernel)(Parameters...), dim3 grid, dim3 block,
               size_t shared, const Arguments&... arguments) {
  const int64_t blocks = int64_t{grid.x} * grid.y * grid.z;
  if (blocks == 0) return DT_KERNEL_OK;
  return launch(blocks <= kFewBlocks, stream, kernel, grid, block, shared, arguments...);
}

// The same for kernels of a chain, see begin_chain: short ones that ask for much before they wait.
template <class... Parameters, class... Arguments>
int32_t launch_chained(const dt_stream* stream, void (*kernel)(Parameters...), dim3 grid,
                       dim3 block, size_t shared, const Arguments&... arguments) {
  return launch(true, stream, kernel, grid, block, shared, arguments...);
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
