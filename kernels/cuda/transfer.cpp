// Copies between the host and devices, and between devices.
#include <mutex>

#include "kernels/cuda/runtime.h"

namespace dt::cuda {

namespace {

constexpr int32_t kHost = -1;

// Lets `device` reach the other one's memory directly, where the machine can; elsewhere the driver
// takes the way through the host. Asked once for each pair.
void open_way(int32_t device, int32_t other) {
  static std::mutex mutex;
  static bool is_asked[kMaxDevices][kMaxDevices];
  const std::lock_guard<std::mutex> lock(mutex);
  if (is_asked[device][other] || captures_underway() > 0) return;
  is_asked[device][other] = true;
  int is_possible = 0;
  ignore(cudaDeviceCanAccessPeer(&is_possible, device, other));
  if (is_possible) ignore(cudaDeviceEnablePeerAccess(other, 0));
}

cudaError_t enqueue(void* to, int32_t to_device, const void* from, int32_t from_device,
                    int64_t bytes, cudaStream_t stream) {
  const size_t n = static_cast<size_t>(bytes);
  if (to_device == kHost) return cudaMemcpyAsync(to, from, n, cudaMemcpyDeviceToHost, stream);
  if (from_device == kHost) return cudaMemcpyAsync(to, from, n, cudaMemcpyHostToDevice, stream);
  if (to_device == from_device)
    return cudaMemcpyAsync(to, from, n, cudaMemcpyDeviceToDevice, stream);
  open_way(to_device, from_device);
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, n, stream);
}

// A graph repeats the copy at each launch, when memory that is not page-locked may be gone.
int32_t check_capture(cudaStream_t stream, const void* host, int32_t wait, dt_fault* fault) {
  if (wait) return refuse_in_capture("copying and waiting for the copy", fault);
  if (host && !keep_for_graph(stream, host))
    return refuse_in_capture("copying host memory that is not pinned", fault);
  return DT_KERNEL_OK;
}

}  // namespace

int32_t copy(void* to, int32_t to_device, const void* from, int32_t from_device, int64_t bytes,
             void* stream, int32_t wait, dt_fault* fault) {
  if (bytes <= 0) return DT_KERNEL_OK;
  const int32_t device = to_device == kHost ? from_device : to_device;
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  const cudaStream_t order = resolve(device, stream);
  const void* host = to_device == kHost ? to : from_device == kHost ? from : nullptr;
  const bool is_captured = capture_of(order) != 0;
  if (is_captured)
    if (const int32_t code = check_capture(order, host, wait, fault)) return code;

  const cudaError_t error = enqueue(to, to_device, from, from_device, bytes, order);
  if (const int32_t code = check(error, "cudaMemcpyAsync", fault)) return code;
  if (wait) return stream_synchronize(device, order, fault);
  if (host && !is_captured) pinned_cache().copied(host, order);
  return DT_KERNEL_OK;
}

}  // namespace dt::cuda
