// Devices: making them ready, choosing one, and turning CUDA's errors into faults.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include <mutex>

#include "kernels/cuda/runtime.h"
#include "kernels/cuda/warpgroup.h"
#include "kernels/cuda/together.cuh"
#include "kernels/cuda/shared.cuh"

namespace dt::cuda {

namespace {

constexpr int kMinMajor = 8;  // the oldest compute capability that the plugin has code for

std::atomic<Device*> devices[kMaxDevices];
int device_count = 0;
std::atomic<bool> forked{false};
std::mutex opening;
thread_local int32_t current = -1;  // the thread's device; -1: not known to be ready

// In the child all state is forgotten rather than freed: it belongs to the parent's CUDA.
void after_fork() {
  forked = true;
  current = -1;
  for (std::atomic<Device*>& device : devices) device = nullptr;
}

cudaError_t make_ready(int32_t number) {
  const std::lock_guard<std::mutex> lock(opening);
  if (devices[number]) return cudaSuccess;
  Device device = {};
  device.number = number;
  int major = 0;
  cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number);
  if (!error && major < kMinMajor) error = cudaErrorNoKernelImageForDevice;
  if (!error)
    error = cudaDeviceGetAttribute(&device.multiprocessors, cudaDevAttrMultiProcessorCount, number);
  if (!error) error = runs_code_for_sm_90(&device.runs_code_for_sm_90);
  if (!error) error = runs_code_for_sm_90a(&device.runs_code_for_sm_90a);
  if (!error)
    error = cudaDeviceGetAttribute(&device.works_together, cudaDevAttrCooperativeLaunch, number);
  if (!error)
    error = cudaDeviceGetAttribute(&device.shared_memory,
                                   cudaDevAttrMaxSharedMemoryPerMultiprocessor, number);
  if (!error) error = make_error_word(&device.error_word);
  if (!error) error = make_main_stream(number, &device.main_stream);
  if (error) return error;
  device.driver = make_driver(number);
  device.allocator = new Allocator(*device.driver, number);
  devices[number] = new Device(device);
  return cudaSuccess;
}

}  // namespace

// Other libraries in the process may change the thread's device behind our back: with several
// devices the driver is asked, which takes a few nanoseconds more.
cudaError_t set_device(int32_t device) {
  if (device == current && device >= 0) {
    int now = device;
    if (device_count == 1 || (cudaGetDevice(&now) == cudaSuccess && now == device))
      return cudaSuccess;
  }
  if (forked) return cudaErrorInitializationError;
  if (device < 0 || device >= device_count) return cudaErrorInvalidDevice;
  const AllowUnsafeCalls allow;
  cudaError_t error = cudaSetDevice(device);
  if (!error && !devices[device]) error = make_ready(device);
  if (!error) current = device;
  return error;
}

Device* find_device(int32_t number) {
  return number >= 0 && number < kMaxDevices ? devices[number].load() : nullptr;
}

bool is_forked() {
  return forked;
}

int multiprocessors(int32_t device) {
  if (set_device(device) != cudaSuccess) return 1;
  return find_device(device)->multiprocessors;
}

bool can_launch_together(int32_t device) {
  return set_device(device) == cudaSuccess && find_device(device)->works_together == 1;
}

bool has_clusters(int32_t device) {
  return set_device(device) == cudaSuccess && find_device(device)->runs_code_for_sm_90;
}

bool has_warpgroups(int32_t device) {
  return set_device(device) == cudaSuccess && find_device(device)->runs_code_for_sm_90a;
}

int64_t shared_memory(int32_t device) {
  if (set_device(device) != cudaSuccess) return 0;
  return find_device(device)->shared_memory;
}

// The error is taken off the driver's own note of it, so that no later call reports it again.
int32_t check(cudaError_t error, const char* what, dt_fault* fault) {
  if (error == cudaSuccess) return DT_KERNEL_OK;
  cudaGetLastError();
  if (forked)
    snprintf(fault->message, sizeof(fault->message),
             "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, "
             "you must use the 'spawn' start method");
  else
    snprintf(fault->message, sizeof(fault->message), "CUDA error: %s (%s returned %s)",
             cudaGetErrorString(error), what, cudaGetErrorName(error));
  return error == cudaErrorMemoryAllocation ? DT_KERNEL_OUT_OF_MEMORY : DT_KERNEL_DEVICE;
}

// ---- finding devices ----------------------------------------------------------------------------

namespace {

// Static cudart says of a missing library that the driver is too old; so we look ourselves.
bool has_driver_library(dt_fault* fault) {
  if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) return true;  // kept open: CUDA needs it
  snprintf(fault->message, sizeof(fault->message),
           "the CUDA driver library libcuda.so.1 was not found (%s)", dlerror());
  return false;
}

void explain_old_driver(dt_fault* fault) {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  snprintf(fault->message, sizeof(fault->message),
           "the NVIDIA driver is too old: it supports CUDA %d.%d, and CUDA %d.%d is needed",
           driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}

}  // namespace

int32_t count_devices(int32_t* count, dt_fault* fault) {
  *count = 0;
  if (!has_driver_library(fault)) return DT_KERNEL_DEVICE;
  int found = 0;
  const cudaError_t error = cudaGetDeviceCount(&found);
  if (error == cudaErrorInsufficientDriver) {
    cudaGetLastError();
    explain_old_driver(fault);
    return DT_KERNEL_DEVICE;
  }
  if (!error && found == 0) return check(cudaErrorNoDevice, "cudaGetDeviceCount", fault);
  if (const int32_t code = check(error, "cudaGetDeviceCount", fault)) return code;
  static const int registered = pthread_atfork(nullptr, nullptr, after_fork);
  if (registered != 0) return check(cudaErrorUnknown, "pthread_atfork", fault);
  device_count = found < kMaxDevices ? found : kMaxDevices;
  *count = device_count;
  return DT_KERNEL_OK;
}

int32_t properties(int32_t device, dt_device_properties* properties, dt_fault* fault) {
  cudaDeviceProp found;
  const cudaError_t error =
      forked ? cudaErrorInitializationError : cudaGetDeviceProperties(&found, device);
  if (const int32_t code = check(error, "cudaGetDeviceProperties", fault)) return code;
  *properties = {};
  snprintf(properties->name, sizeof(properties->name), "%s", found.name);
  properties->major = found.major;
  properties->minor = found.minor;
  properties->multiprocessors = found.multiProcessorCount;
  properties->total_memory = static_cast<int64_t>(found.totalGlobalMem);
  return DT_KERNEL_OK;
}

namespace {

// While a graph is captured on the device, waiting for all of it would break the capture: another
// thread then waits for the streams that are not captured.
int32_t synchronize_beside_capture(int32_t device, dt_fault* fault) {
  const std::vector<cudaStream_t> streams = streams_of(device);
  for (cudaStream_t stream : streams)
    if (capture_of(stream) != 0 && captures_of_thread() > 0)
      return refuse_in_capture("waiting for the device", fault);
  for (cudaStream_t stream : streams) {
    if (capture_of(stream) != 0) continue;
    if (const int32_t code = check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", fault))
      return code;
  }
  return take_error_word(device, fault);
}

}  // namespace

int32_t synchronize(int32_t device, dt_fault* fault) {
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  if (captures_underway() > 0) return synchronize_beside_capture(device, fault);
  if (const int32_t code = check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", fault))
    return code;
  return take_error_word(device, fault);
}

}  // namespace dt::cuda
