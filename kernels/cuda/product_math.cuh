// The arithmetic of products: what "multiply and add" means for each element type.
#pragma once

#include <stdint.h>

#include <type_traits>

namespace dt::cuda {

template <class T>
struct FloatMath {
  using Value = T;
  using Scale = T;
  static __device__ __forceinline__ T madd(T a, T b, T sum) { return fma(a, b, sum); }
  // alpha * sum + beta * c
  static __device__ __forceinline__ T combine(T sum, T c, T alpha, T beta) {
    return alpha * sum + beta * c;
  }
};

// Integers wrap around, so they are multiplied and added as unsigned numbers.
template <class U>
struct WrappingMath {
  using Value = U;
  using Scale = double;
  using Wide = std::conditional_t<sizeof(U) == 8, uint64_t, uint32_t>;
  static __device__ __forceinline__ U madd(U a, U b, U sum) {
    return static_cast<U>(Wide{a} * b + sum);
  }
  static __device__ __forceinline__ U combine(U sum, U c, double alpha, double beta) {
    return static_cast<U>(static_cast<uint64_t>(static_cast<int64_t>(alpha)) * sum +
                          static_cast<uint64_t>(static_cast<int64_t>(beta)) * c);
  }
};

// bool: or of ands.
struct LogicalMath {
  using Value = uint8_t;
  using Scale = double;
  static __device__ __forceinline__ uint8_t madd(uint8_t a, uint8_t b, uint8_t sum) {
    return sum | (a & b);
  }
  static __device__ __forceinline__ uint8_t combine(uint8_t sum, uint8_t c, double alpha,
                                                    double beta) {
    return (alpha != 0 && sum != 0) || (beta != 0 && c != 0);
  }
};

}  // namespace dt::cuda
