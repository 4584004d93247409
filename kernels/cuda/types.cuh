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

// The bytes of the narrow elements that arithmetic in W reads and writes in packets: floats of two
// bytes for float, integers and truth values of one for int32_t. 0: there are none.
template <class W>
constexpr int kNarrowBytes = std::is_same_v<W, float>     ? 2
                             : std::is_same_v<W, int32_t> ? 1
                                                          : 0;
template <class T, class W>
constexpr bool kIsNarrowOf = compute_of(dtype_of<T>) == dtype_of<W> && sizeof(T) == kNarrowBytes<W>;

template <class W, class T>
__device__ __forceinline__ W value_of(Bits<sizeof(T)> bits) {
  Stored<T> element;
  memcpy(&element, &bits, sizeof(T));
  return static_cast<W>(element);
}

// The bits of a narrow element as a number. All formats are computed and one is chosen, without
// jumps: loads on either side of a jump would wait for each other.
template <class W>
__device__ __forceinline__ W widened(Bits<kNarrowBytes<W>> bits, int32_t dtype) {
  W value = 0;
#define DT_DTYPE_ROW(NAME, name, Own, ...) \
  if constexpr (kIsNarrowOf<Own, W>) value = dtype == DT_##NAME ? value_of<W, Own>(bits) : value;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  return value;
}

}  // namespace dt::cuda
