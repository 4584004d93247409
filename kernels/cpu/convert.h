// Reading and writing runs of elements of any dtype as values of one arithmetic type.
#pragma once

#include "kernels/cpu/common.h"

namespace dt::cpu {
namespace {

template <class To, class From>
inline void convert_run(To* y, int64_t y_stride, const From* x, int64_t x_stride, int64_t n) {
  if (x_stride == 1 && y_stride == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i * y_stride] = static_cast<To>(x[i * x_stride]);
  }
}

// y[i] = x[i * stride], where x points to elements of `dtype`.
template <class To>
inline void load_run(To* y, const void* x, int32_t dtype, int64_t stride, int64_t n) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, type, bytes, category, compute, safetensors, dlpack_code) \
  case DT_##NAME:                                                                          \
    return convert_run(y, 1, static_cast<const type*>(x), stride, n);
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
}

// y[i] = whether x[i * stride] is nonzero.
template <class To>
inline void load_truth(To* y, const void* x, int32_t dtype, int64_t stride, int64_t n) {
  auto test = [=](auto* from) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(from[i * stride] != 0);
  };
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, type, bytes, category, compute, safetensors, dlpack_code) \
  case DT_##NAME:                                                                          \
    return test(static_cast<const type*>(x));
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
}

// y[i * stride] = x[i], where y points to elements of `dtype`.
template <class From>
inline void store_run(void* y, int32_t dtype, int64_t stride, const From* x, int64_t n) {
  if (dtype == DT_BOOL) {
    uint8_t* flags = static_cast<uint8_t*>(y);
    for (int64_t i = 0; i < n; ++i) flags[i * stride] = x[i] != From(0);
    return;
  }
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, type, bytes, category, compute, safetensors, dlpack_code) \
  case DT_##NAME:                                                                          \
    return convert_run(static_cast<type*>(y), stride, x, 1, n);
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
}

template <class T>
constexpr bool kIsFloating = static_cast<T>(0.5) != T(0);

// The dtype of an arithmetic type.
template <class T>
struct DtypeOf;
template <>
struct DtypeOf<float> {
  static constexpr int32_t value = DT_FLOAT32;
};
template <>
struct DtypeOf<double> {
  static constexpr int32_t value = DT_FLOAT64;
};
template <>
struct DtypeOf<int32_t> {
  static constexpr int32_t value = DT_INT32;
};
template <>
struct DtypeOf<int64_t> {
  static constexpr int32_t value = DT_INT64;
};
// Unsigned integers are the wrapping arithmetic of the signed dtypes: the same bits.
template <>
struct DtypeOf<uint32_t> {
  static constexpr int32_t value = DT_INT32;
};
template <>
struct DtypeOf<uint64_t> {
  static constexpr int32_t value = DT_INT64;
};

}  // namespace
}  // namespace dt::cpu
