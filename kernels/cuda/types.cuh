// Elements of any dtype in device code.
#pragma once

#include "kernels/cuda/packet.cuh"
#include "kernels/dtype.h"

namespace dt::cuda {

// Floating to integer truncates, negative numbers wrap around in narrow integers, to bool: x != 0.
template <class To, class From>
__device__ __forceinline__ To converted(From x) {
  if constexpr (kIsBool<To>) {
    return x != From(0);
  } else if constexpr (!kIsFloating<To> && sizeof(To) < sizeof(int32_t)) {
    return static_cast<To>(static_cast<int64_t>(x));
  } else {
    return static_cast<To>(x);
  }
}

// An element in memory as its own type.
template <class T>
__device__ __forceinline__ T element(const void* p, int64_t i) {
  return static_cast<T>(static_cast<const Stored<T>*>(p)[i]);
}

// An element of any dtype read or written as T; the switch is uniform across a warp.
template <class T>
__device__ __forceinline__ T load_as(const void* p, int32_t dtype, int64_t i) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, Own, ...) \
  case DT_##NAME:                          \
    return converted<T>(element<Own>(p, i));
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
  return T();
}

template <class T>
__device__ __forceinline__ void store_as(void* p, int32_t dtype, int64_t i, T value) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, Own, ...)                   \
  case DT_##NAME:                                            \
    static_cast<Stored<Own>*>(p)[i] = converted<Own>(value); \
    break;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
}

template <class T>
__device__ __forceinline__ float value_of(Bits<sizeof(T)> bits) {
  T element;
  memcpy(&element, &bits, sizeof(T));
  return static_cast<float>(element);
}

// The bits of a narrow float as a number. All formats are computed and one is chosen, without
// jumps: loads on either side of a jump would wait for each other.
__device__ __forceinline__ float widened(Bits<2> bits, int32_t dtype) {
  float value = 0;
#define DT_DTYPE_ROW(NAME, name, Own, ...) \
  if constexpr (kIsNarrowFloat<Own>) value = dtype == DT_##NAME ? value_of<Own>(bits) : value;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  return value;
}

// Neighbouring elements of a narrow float, from `at` on, read or written as floats. `apart`: no
// packet begins there.
template <int kWidth>
__device__ __forceinline__ void load_narrow(float (&value)[kWidth], const void* p, int32_t dtype,
                                            int64_t at, bool apart = false) {
  const auto packet = load_neighbours<kWidth>(static_cast<const Bits<2>*>(p) + at, apart);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) value[i] = widened(packet.value[i], dtype);
}

template <int kWidth>
__device__ __forceinline__ void store_narrow(void* p, int32_t dtype, int64_t at,
                                             const float (&value)[kWidth]) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, Own, ...)                                           \
  case DT_##NAME:                                                                    \
    if constexpr (kIsNarrowFloat<Own>) {                                             \
      Packet<float, kWidth> packet;                                                  \
      _Pragma("unroll") for (int i = 0; i < kWidth; ++i) packet.value[i] = value[i]; \
      store_rounded(static_cast<Own*>(p) + at, packet);                              \
    }                                                                                \
    break;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
}

}  // namespace dt::cuda
