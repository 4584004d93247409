// Associative operations on numbers, each with its identity.
#pragma once

#include <stdint.h>

#include <limits>

namespace dt::cuda {

template <class T>
struct Sum {
  using Type = T;
  static constexpr T kIdentity = T(0);
  static __device__ __forceinline__ T apply(T a, T b) { return a + b; }
};

template <class T>
struct Product {
  using Type = T;
  static constexpr T kIdentity = T(1);
  static __device__ __forceinline__ T apply(T a, T b) { return a * b; }
};

// NaN wins: b is taken if it is larger or NaN, and a NaN in a is never "smaller".
template <class T>
struct Largest {
  using Type = T;
  static constexpr T kIdentity = std::numeric_limits<T>::has_infinity
                                     ? -std::numeric_limits<T>::infinity()
                                     : std::numeric_limits<T>::lowest();
  static __device__ __forceinline__ T apply(T a, T b) { return (b > a) | (b != b) ? b : a; }
};

template <class T>
struct Smallest {
  using Type = T;
  static constexpr T kIdentity = std::numeric_limits<T>::has_infinity
                                     ? std::numeric_limits<T>::infinity()
                                     : std::numeric_limits<T>::max();
  static __device__ __forceinline__ T apply(T a, T b) { return (b < a) | (b != b) ? b : a; }
};

// Whether any or all of some truth values hold; they are kept as words, which threads can exchange.
struct Or {
  using Type = int32_t;
  static constexpr int32_t kIdentity = 0;
  static __device__ __forceinline__ int32_t apply(int32_t a, int32_t b) { return a | b; }
};

struct And {
  using Type = int32_t;
  static constexpr int32_t kIdentity = 1;
  static __device__ __forceinline__ int32_t apply(int32_t a, int32_t b) { return a & b; }
};

}  // namespace dt::cuda
