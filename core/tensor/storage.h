// A run of bytes that tensors look at. Views and `detach` share one storage.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/device.h"
#include "core/base/ref.h"

namespace dt {

class Storage : public RefCounted {
 public:
  using Deleter = void (*)(void* context);

  // Fresh memory from the device's caching allocator, 64-byte aligned, not cleared; on a GPU, in
  // the order of the current stream.
  static Ref<Storage> allocate(int64_t bytes, Device device);
  // Memory that belongs to somebody else (NumPy, DLPack, the user): deleter(context) runs once,
  // when the last tensor that looks at it is gone, and also when this function fails. A null
  // deleter leaves the memory alone.
  static Ref<Storage> wrap(void* data, int64_t bytes, Device device, Deleter deleter,
                           void* context);
  static void destroy(Storage* storage);

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  Deleter deleter() const { return deleter_; }  // null for memory of an allocator

  // How often its tensors were changed in place, but for those that count on their own: see
  // Tensor::version.
  std::atomic<uint32_t>& version() { return version_; }

  // The number of the capture whose pool the memory is from; 0: none.
  uint32_t capture() const { return capture_; }

 private:
  static Ref<Storage> allocate_on_device(int64_t bytes, Device device);

  Storage(void* data, int64_t bytes, Device device, Deleter deleter, void* context)
      : data_(data), bytes_(bytes), device_(device), deleter_(deleter), context_(context) {}
  ~Storage() = default;

  void* data_;
  int64_t bytes_;
  Device device_;
  Deleter deleter_;  // null for memory of the allocator
  void* context_;
  std::atomic<uint32_t> version_{0};
  uint32_t capture_ = 0;
};

}  // namespace dt
