// Running statistics that teams merge: the largest element with a sum of exponentials, and mean
// with squared deviations. Plain structs without constructors, because they lie in shared memory.
#pragma once

#include "kernels/math.h"

namespace dt::cuda {

template <class T>
__device__ __forceinline__ T lowest() {
  return -static_cast<T>(math::kInfinity);
}

// The larger of two; a NaN in b is passed over.
template <class T>
__device__ __forceinline__ T max_of(T a, T b) {
  return b > a ? b : a;
}
__device__ __forceinline__ float max_of(float a, float b) {
  return fmaxf(a, b);  // one instruction
}

// A sum of squares, of which rounding may leave less than nothing. NaN is not less, so it stays.
template <class T>
__device__ __forceinline__ T not_negative(T squares) {
  return squares < T(0) ? T(0) : squares;
}

// What exponentials of elements up to `top` are taken relative to: -inf would give NaN where an
// element is -inf, too.
template <class T>
__device__ __forceinline__ T finite_top(T top) {
  return top == lowest<T>() ? T(0) : top;
}

// exp(x) as a term of a sum whose largest term is 1, so that x <= 0 and only the absolute error
// counts: that of the fast exponential stays below 1e-7, and terms below 1e-38 may vanish.
__device__ __forceinline__ float exp_term(float x) {
#ifdef __CUDA_ARCH__
  float e;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(x * 1.442695041f));
  return e;
#else
  return math::exp(x);
#endif
}
__device__ __forceinline__ double exp_term(double x) {
  return math::exp(x);
}

// sum of exp(x - top) over elements whose largest is `top`.
template <class T>
struct ExpSum {
  T top, sum;

  static __device__ __forceinline__ ExpSum none() { return {lowest<T>(), T(0)}; }

  static __device__ __forceinline__ ExpSum merge(const ExpSum& a, const ExpSum& b) {
    const T top = a.top > b.top ? a.top : b.top, base = finite_top(top);
    return {top, a.sum * math::exp(a.top - base) + b.sum * math::exp(b.top - base)};
  }
};

// Mean and sum of squared deviations from it, merged as by Chan, Golub and LeVeque ("Updating
// formulae and a pairwise algorithm for computing sample variances", 1979).
template <class T>
struct Moments {
  T count, mean, squares;

  static __device__ __forceinline__ Moments none() { return {T(0), T(0), T(0)}; }

  static __device__ __forceinline__ Moments merge(const Moments& a, const Moments& b) {
    const T count = a.count + b.count;
    if (count == T(0)) return none();
    const T share = b.count / count, delta = b.mean - a.mean;
    // In this order 0 elements add 0, however large the other mean is.
    return {count, a.mean + delta * share,
            a.squares + b.squares + (delta * a.count) * (delta * share)};
  }

  // Of `count` elements at once: element(i, use) calls use(x) for those that exist. The second loop
  // also measures by how much the rounded mean is off, so that a large mean costs no digits.
  template <class ForEach>
  static __device__ __forceinline__ Moments of(T count, const ForEach& for_each) {
    if (count == T(0)) return none();
    T sum = 0;
    for_each([&](T x) { sum += x; });
    const T guess = sum / count;
    T off = 0, squares = 0;
    for_each([&](T x) {
      const T deviation = x - guess;
      off += deviation;
      squares += deviation * deviation;
    });
    const T shift = off / count;
    return {count, guess + shift, squares - shift * off};
  }
};

// Two sums side by side.
template <class T>
struct Pair {
  T first, second;

  static __device__ __forceinline__ Pair merge(const Pair& a, const Pair& b) {
    return {a.first + b.first, a.second + b.second};
  }
};

}  // namespace dt::cuda
