// Vectors of the instruction set's own width, and reductions of contiguous spans over them.
#pragma once

#include "kernels/cpu/common.h"

namespace dt::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
inline Vector<T> load(const T* p) {
  Vector<T> v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}

template <class T>
inline void store(T* p, Vector<T> v) {
  __builtin_memcpy(p, &v, sizeof(v));
}

// The largest and smallest value of a type: infinities where it has them.
template <class T>
struct Limits;
template <>
struct Limits<float> {
  static constexpr float kHighest = __builtin_inff(), kLowest = -__builtin_inff();
};
template <>
struct Limits<double> {
  static constexpr double kHighest = __builtin_inf(), kLowest = -__builtin_inf();
};
template <>
struct Limits<int32_t> {
  static constexpr int32_t kHighest = INT32_MAX, kLowest = INT32_MIN;
};
template <>
struct Limits<int64_t> {
  static constexpr int64_t kHighest = INT64_MAX, kLowest = INT64_MIN;
};

// Associative operations with an identity. `apply` takes scalars and vectors alike. Sums and
// products of integers wrap around, so they are formed in unsigned types.
template <class T>
struct Sum {
  using Value = T;
  static constexpr T kIdentity = 0;
  template <class V>
  static V apply(V a, V b) {
    return a + b;
  }
};

template <class T>
struct Product {
  using Value = T;
  static constexpr T kIdentity = 1;
  template <class V>
  static V apply(V a, V b) {
    return a * b;
  }
};

// NaN wins: b is taken if it is larger or NaN, and a NaN in a is never "smaller".
template <class T>
struct Largest {
  using Value = T;
  static constexpr T kIdentity = Limits<T>::kLowest;
  template <class V>
  static V apply(V a, V b) {
    return ((b > a) | (b != b)) ? b : a;
  }
};

template <class T>
struct Smallest {
  using Value = T;
  static constexpr T kIdentity = Limits<T>::kHighest;
  template <class V>
  static V apply(V a, V b) {
    return ((b < a) | (b != b)) ? b : a;
  }
};

// Combines the lanes of a vector by halving, in vectors of half the size as long as there are any.
template <class Op, int kBytes, class T = typename Op::Value>
inline T reduce_halves(const T* lanes) {
  constexpr int kWidth = kBytes / sizeof(T);
  if constexpr (kBytes > 16) {
    typedef T Half __attribute__((vector_size(kBytes / 2)));
    Half low, high;
    __builtin_memcpy(&low, lanes, sizeof(Half));
    __builtin_memcpy(&high, lanes + kWidth / 2, sizeof(Half));
    const Half both = Op::apply(low, high);
    T rest[kWidth / 2];
    __builtin_memcpy(rest, &both, sizeof(Half));
    return reduce_halves<Op, kBytes / 2>(rest);
  } else if constexpr (kWidth == 4) {
    return Op::apply(Op::apply(lanes[0], lanes[2]), Op::apply(lanes[1], lanes[3]));
  } else {
    return Op::apply(lanes[0], lanes[1]);
  }
}

template <class Op, class T = typename Op::Value>
inline T reduce_lanes(Vector<T> v) {
  T lanes[kVectorBytes / sizeof(T)];
  store(lanes, v);
  return reduce_halves<Op, kVectorBytes>(lanes);
}

struct Unchanged {
  template <class V>
  V operator()(V v) const {
    return v;
  }
};

// Reduces transform(x[i]) over n contiguous elements. 128 bytes of lanes hide the latency of the
// operation; they are combined by halving. The order of operations depends on n alone, not on the
// width of the vectors. `transform` takes scalars and vectors alike.
template <class Op, class T = typename Op::Value, class Transform = Unchanged>
inline T reduce_span(const T* x, int64_t n, const Transform& transform = Transform()) {
  constexpr int kLanes = 128 / sizeof(T);
  constexpr int kWidth = kVectorBytes / sizeof(T);
  constexpr int kVectors = kLanes / kWidth;
  if (n <= 4) {
    T result = n > 0 ? transform(x[0]) : Op::kIdentity;
    for (int64_t i = 1; i < n; ++i) result = Op::apply(result, transform(x[i]));
    return result;
  }
  Vector<T> lanes[kVectors];
  for (int k = 0; k < kVectors; ++k) lanes[k] = Vector<T>{} + Op::kIdentity;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kVectors; ++k)
      lanes[k] = Op::apply(lanes[k], transform(load(x + i + k * kWidth)));
  }
  if (i < n) {
    T tail[kLanes];
    for (int j = 0; j < kLanes; ++j) tail[j] = i + j < n ? transform(x[i + j]) : Op::kIdentity;
    for (int k = 0; k < kVectors; ++k) lanes[k] = Op::apply(lanes[k], load(tail + k * kWidth));
  }
  for (int half = kVectors / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) lanes[k] = Op::apply(lanes[k], lanes[k + half]);
  }
  return reduce_lanes<Op, T>(lanes[0]);
}

// into[j] = apply(into[j], x[j]) for each of `rows` rows of n elements, four at a time.
template <class Op, class T = typename Op::Value>
inline void reduce_rows(T* into, const T* x, int64_t row_stride, int64_t rows, int64_t n) {
  constexpr int64_t kWidth = kVectorBytes / sizeof(T);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * row_stride) {
    int64_t j = 0;
    for (; j + kWidth <= n; j += kWidth) {
      Vector<T> sum = load(into + j);
      for (int k = 0; k < 4; ++k) sum = Op::apply(sum, load(x + k * row_stride + j));
      store(into + j, sum);
    }
    for (; j < n; ++j) {
      for (int k = 0; k < 4; ++k) into[j] = Op::apply(into[j], x[k * row_stride + j]);
    }
  }
  for (; r < rows; ++r, x += row_stride) {
    for (int64_t j = 0; j < n; ++j) into[j] = Op::apply(into[j], x[j]);
  }
}

}  // namespace
}  // namespace dt::cpu
