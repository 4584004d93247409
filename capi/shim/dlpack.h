// DLPack, the exchange format of array libraries (dmlc/dlpack, version 1): the structs as its
// specification has them.
#pragma once

#include <cstdint>

namespace dt::capi::dlpack {

struct Device {
  int32_t device_type;  // 1: cpu, 2: cuda
  int32_t device_id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // may be null: row-major
  uint64_t byte_offset;
};

struct Version {
  uint32_t major, minor;
};

struct ManagedTensor {  // DLManagedTensorVersioned
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
  uint64_t flags;
  Tensor dl_tensor;
};

inline constexpr uint64_t kReadOnly = 1;

}  // namespace dt::capi::dlpack
