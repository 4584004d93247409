// Vectors of the instruction set's own width, whole and in part, and reductions of contiguous spans
// over them.
#pragma once

#include "kernels/cpu/common.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

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

// Lanes [begin, end) of the vector at p, the others 0. Memory of the others is not touched, so p
// may point outside of an array as long as those lanes lie inside.
template <class T>
inline Vector<T> load_lanes(const T* p, int64_t begin, int64_t end) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return reinterpret_cast<Vector<T>>(
        _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << end) - (1u << begin)), p));
  if constexpr (sizeof(T) == 8)
    return reinterpret_cast<Vector<T>>(
        _mm512_maskz_loadu_epi64(static_cast<__mmask8>((1u << end) - (1u << begin)), p));
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i reached = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(end)), lane);
    const __m256i before = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(begin)), lane);
    return reinterpret_cast<Vector<T>>(_mm256_maskload_epi32(reinterpret_cast<const int*>(p),
                                                             _mm256_andnot_si256(before, reached)));
  }
  if constexpr (sizeof(T) == 8) {
    const __m256i lane = _mm256_setr_epi64x(0, 1, 2, 3);
    const __m256i reached = _mm256_cmpgt_epi64(_mm256_set1_epi64x(end), lane);
    const __m256i before = _mm256_cmpgt_epi64(_mm256_set1_epi64x(begin), lane);
    return reinterpret_cast<Vector<T>>(_mm256_maskload_epi64(reinterpret_cast<const long long*>(p),
                                                             _mm256_andnot_si256(before, reached)));
  }
#endif
  Vector<T> v = {};
  for (int64_t i = begin; i < end; ++i) v[i] = p[i];
  return v;
}

// The first n lanes, n in [0, lanes], without touching memory beyond them; the other lanes are 0.
template <class T>
inline Vector<T> load_first(const T* p, int64_t n) {
  return load_lanes(p, 0, n);
}

// The first n lanes of v; the others are `other`.
template <class T>
inline Vector<T> keep_first(Vector<T> v, int64_t n, T other) {
  constexpr int kCount = kVectorBytes / sizeof(T);
  using Index =
      std::conditional_t<sizeof(T) == 8, int64_t,
                         std::conditional_t<sizeof(T) == 4, int32_t,
                                            std::conditional_t<sizeof(T) == 2, int16_t, int8_t>>>;
  Vector<Index> lane;
  for (int i = 0; i < kCount; ++i) lane[i] = static_cast<Index>(i);
  return lane < static_cast<Index>(n) ? v : Vector<T>{} + other;
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
  } else {  // vectors still: a scalar maximum may be a branch
    typedef T Last __attribute__((vector_size(16)));
    Last v;
    __builtin_memcpy(&v, lanes, sizeof(v));
    if constexpr (kWidth == 4) v = Op::apply(v, Last{v[2], v[3], v[0], v[1]});
    if constexpr (kWidth == 4) return Op::apply(v, Last{v[1], v[0], v[3], v[2]})[0];
    return Op::apply(v, Last{v[1], v[0]})[0];
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

// `n` elements, or as many as a vector of T has, as values of T: those of T itself, or floats that
// are calculated with as doubles.
template <class T, class From>
inline Vector<T> load_as(const From* p, int64_t n = kVectorBytes / sizeof(T)) {
  constexpr int64_t kAll = kVectorBytes / sizeof(T);
  if constexpr (std::is_same_v<T, From>) {
    return n == kAll ? load(p) : load_first(p, n);
  } else {
    typedef From Narrow __attribute__((vector_size(kAll * sizeof(From))));
    Narrow v;
    if (n == kAll) {
      __builtin_memcpy(&v, p, sizeof(v));
    } else {
      const Vector<From> first = load_first(p, n);
      __builtin_memcpy(&v, &first, sizeof(v));
    }
    return __builtin_convertvector(v, Vector<T>);
  }
}

// Reduces transform(x[i]) over n contiguous elements. 128 bytes of lanes hide the latency of the
// operation; they are combined by halving. The order of operations depends on n alone, not on the
// width of the vectors. `transform` takes scalars and vectors alike.
template <class Op, class From, class Transform = Unchanged, class T = typename Op::Value>
inline T reduce_span(const From* x, int64_t n, const Transform& transform = Transform()) {
  constexpr int kLanes = 128 / sizeof(T);
  constexpr int kWidth = kVectorBytes / sizeof(T);
  constexpr int kVectors = kLanes / kWidth;
  if (n <= 4) {
    T result = n > 0 ? transform(static_cast<T>(x[0])) : Op::kIdentity;
    for (int64_t i = 1; i < n; ++i) result = Op::apply(result, transform(static_cast<T>(x[i])));
    return result;
  }
  Vector<T> lanes[kVectors];
  for (int k = 0; k < kVectors; ++k) lanes[k] = Vector<T>{} + Op::kIdentity;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kVectors; ++k)
      lanes[k] = Op::apply(lanes[k], transform(load_as<T>(x + i + k * kWidth)));
  }
  for (int k = 0; k < kVectors && i < n; ++k, i += kWidth) {
    const int64_t rest = min<int64_t>(kWidth, n - i);
    const Vector<T> last = transform(load_as<T>(x + i, rest));
    lanes[k] = Op::apply(lanes[k], rest == kWidth ? last : keep_first(last, rest, Op::kIdentity));
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
