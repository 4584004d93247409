// From dtype numbers to C++ types.
#pragma once

#include <stdint.h>

#include "kernels/abi.h"

namespace dt::cuda {

template <class T>
struct Type {
  using type = T;
};

// f(Type<T>()) for the C++ type of a dtype; DT_KERNEL_UNSUPPORTED for others. bool is stored as
// bytes that hold 0 or 1.
template <class F>
int32_t visit_floating(int32_t dtype, F f) {
  switch (dtype) {
    case DT_FLOAT32:
      return f(Type<float>());
    case DT_FLOAT64:
      return f(Type<double>());
    default:
      return DT_KERNEL_UNSUPPORTED;
  }
}

template <class F>
int32_t visit_number(int32_t dtype, F f) {
  switch (dtype) {
    case DT_INT32:
      return f(Type<int32_t>());
    case DT_INT64:
      return f(Type<int64_t>());
    case DT_UINT8:
      return f(Type<uint8_t>());
    default:
      return visit_floating(dtype, f);
  }
}

template <class F>
int32_t visit_any(int32_t dtype, F f) {
  if (dtype == DT_BOOL) return f(Type<bool>());
  return visit_number(dtype, f);
}

// For kernels that move elements without looking at them: an unsigned integer of the same width.
template <class F>
int32_t visit_width(int32_t dtype, F f) {
  switch (dtype) {
    case DT_BOOL:
    case DT_UINT8:
      return f(Type<uint8_t>());
    case DT_FLOAT32:
    case DT_INT32:
      return f(Type<uint32_t>());
    case DT_FLOAT64:
    case DT_INT64:
      return f(Type<uint64_t>());
    default:
      return DT_KERNEL_UNSUPPORTED;
  }
}

// An element of any dtype read or written as T; the switch is uniform across a warp. Floating to
// integer truncates, to bool: x != 0.
template <class T>
__device__ __forceinline__ T load_as(const void* p, int32_t dtype, int64_t i) {
  switch (dtype) {
    case DT_FLOAT32:
      return static_cast<T>(static_cast<const float*>(p)[i]);
    case DT_FLOAT64:
      return static_cast<T>(static_cast<const double*>(p)[i]);
    case DT_INT64:
      return static_cast<T>(static_cast<const int64_t*>(p)[i]);
    case DT_INT32:
      return static_cast<T>(static_cast<const int32_t*>(p)[i]);
    case DT_UINT8:
      return static_cast<T>(static_cast<const uint8_t*>(p)[i]);
    default:
      return static_cast<T>(static_cast<const uint8_t*>(p)[i] != 0);
  }
}

template <class T>
__device__ __forceinline__ void store_as(void* p, int32_t dtype, int64_t i, T value) {
  switch (dtype) {
    case DT_FLOAT32:
      static_cast<float*>(p)[i] = static_cast<float>(value);
      break;
    case DT_FLOAT64:
      static_cast<double*>(p)[i] = static_cast<double>(value);
      break;
    case DT_INT64:
      static_cast<int64_t*>(p)[i] = static_cast<int64_t>(value);
      break;
    case DT_INT32:
      static_cast<int32_t*>(p)[i] = static_cast<int32_t>(value);
      break;
    case DT_UINT8:
      static_cast<uint8_t*>(p)[i] = static_cast<uint8_t>(static_cast<int64_t>(value));
      break;
    default:
      static_cast<uint8_t*>(p)[i] = value != T(0);
  }
}

}  // namespace dt::cuda
