// Memory of devices and page-locked memory of the host: the caches over CUDA's own functions.
#include <stdio.h>

#include "kernels/cuda/runtime.h"

namespace dt::cuda {

namespace {

// What both kinds of memory have in common: streams and events.
class CudaDriver : public Driver {
 public:
  explicit CudaDriver(int32_t device) : device_(device) {}

  void* record(void* stream) override { return mark(static_cast<cudaStream_t>(stream), device_); }
  bool is_done(void* event) override { return cuda::is_done(static_cast<Marker*>(event)); }
  void wait(void* event) override { cuda::wait(static_cast<Marker*>(event)); }
  void recycle(void* event) override { cuda::recycle(static_cast<Marker*>(event)); }
  uint64_t capture(void* stream) override { return capture_of(static_cast<cudaStream_t>(stream)); }

 protected:
  // Running out is no error yet: the cache can help, and words it better.
  static int32_t answer(cudaError_t error, const char* what, dt_fault* fault) {
    if (error != cudaErrorMemoryAllocation) return check(error, what, fault);
    ignore(error);
    return DT_KERNEL_OUT_OF_MEMORY;
  }

  const int32_t device_;
};

class DeviceMemory : public CudaDriver {
 public:
  using CudaDriver::CudaDriver;

  // Captures on other devices are not disturbed.
  bool may_free() override { return captures_on(device_) == 0; }
  int32_t allocate(int64_t bytes, void** memory, dt_fault* fault) override {
    if (const int32_t code = check(set_device(device_), "cudaSetDevice", fault)) return code;
    const AllowUnsafeCalls allow;
    return answer(cudaMalloc(memory, static_cast<size_t>(bytes)), "cudaMalloc", fault);
  }
  void free(void* memory) override {
    const AllowUnsafeCalls allow;
    if (set_device(device_) == cudaSuccess) ignore(cudaFree(memory));
  }
  void available(int64_t* free, int64_t* total) override {
    size_t free_bytes = 0, total_bytes = 0;
    if (set_device(device_) == cudaSuccess) {
      const AllowUnsafeCalls allow;
      ignore(cudaMemGetInfo(&free_bytes, &total_bytes));
    }
    *free = static_cast<int64_t>(free_bytes);
    *total = static_cast<int64_t>(total_bytes);
  }
};

// Every device can copy to and from it.
class HostMemory : public CudaDriver {
 public:
  HostMemory() : CudaDriver(0) {}

  bool may_free() override { return captures_underway() == 0; }
  int32_t allocate(int64_t bytes, void** memory, dt_fault* fault) override {
    const AllowUnsafeCalls allow;
    return answer(cudaHostAlloc(memory, static_cast<size_t>(bytes), cudaHostAllocPortable),
                  "cudaHostAlloc", fault);
  }
  void free(void* memory) override { ignore(cudaFreeHost(memory)); }
  void available(int64_t* free, int64_t* total) override { *free = *total = 0; }
};

}  // namespace

Driver* make_driver(int32_t device) {
  return new DeviceMemory(device);
}

// Never destroyed: tensors may outlive every static object.
PinnedCache& pinned_cache() {
  static auto* cache = new PinnedCache(*new HostMemory);
  return *cache;
}

int32_t allocate(int32_t device, int64_t bytes, void* stream, void** block, dt_fault* fault) {
  *block = nullptr;
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  return find_device(device)->allocator->allocate(bytes, resolve(device, stream), block, fault);
}

void release(int32_t device, void* block) {
  if (Device* found = find_device(device)) found->allocator->release(block);
}

void use_on(int32_t device, void* block, void* stream) {
  Device* found = find_device(device);
  if (found) found->allocator->use_on(block, resolve(device, stream));
}

int32_t memory(int32_t device, dt_memory* memory, dt_fault* fault) {
  *memory = {};
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  *memory = find_device(device)->allocator->memory();
  return DT_KERNEL_OK;
}

void reset_peaks(int32_t device) {
  if (Device* found = find_device(device)) found->allocator->reset_peaks();
}

void empty_cache(int32_t device) {
  if (Device* found = find_device(device)) found->allocator->empty_cache();
  if (!is_forked()) pinned_cache().give_back();
}

int32_t allocate_pinned(int64_t bytes, void** block, dt_fault* fault) {
  *block = nullptr;
  if (is_forked()) return check(cudaErrorInitializationError, "cudaHostAlloc", fault);
  return pinned_cache().allocate(bytes, block, fault);
}

void release_pinned(void* block) {
  if (!is_forked()) pinned_cache().release(block);
}

}  // namespace dt::cuda
