// Vectors of the instruction set's own width, whole and in part, and reductions of contiguous spans
// over them.
#pragma once

#include <utility>

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

// Loops over registers must unroll completely, or what they hold would live in memory.
#if defined(__clang__)
#define DT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define DT_UNROLL _Pragma("GCC unroll 32")
#endif

// The same for as many registers as hold 128 bytes. Of the small ones of old processors that is
// half of all, and the code four times as long.
#if defined(__AVX__)
#define DT_UNROLL_LANES DT_UNROLL
#else
#define DT_UNROLL_LANES
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

// Writes the first n lanes.
template <class T>
inline void store_first(T* p, Vector<T> v, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1u << n) - 1),
                                    reinterpret_cast<__m512i>(v));
  if constexpr (sizeof(T) == 8)
    return _mm512_mask_storeu_epi64(p, static_cast<__mmask8>((1u << n) - 1),
                                    reinterpret_cast<__m512i>(v));
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskstore_epi32(reinterpret_cast<int*>(p),
                                  _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane),
                                  reinterpret_cast<__m256i>(v));
  }
#endif
  for (int64_t i = 0; i < n; ++i) p[i] = v[i];
}

// store_first of less than a vector, in whole pieces: some processors take long for a masked store.
template <class T>
inline void store_few(T* p, Vector<T> v, int64_t n) {
#if defined(__AVX512F__)
  store_first(p, v, n);
#else
  constexpr int kCount = kVectorBytes / sizeof(T);
  T lanes[kCount];
  store(lanes, v);
  const T* from = lanes;
  DT_UNROLL
  for (int64_t piece = kCount / 2; piece > 0; piece /= 2) {
    if ((n & piece) == 0) continue;
    __builtin_memcpy(p, from, static_cast<size_t>(piece) * sizeof(T));
    p += piece, from += piece;
  }
#endif
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

// b > a ? b : a and its like, one instruction each, for which compilers do not find them.
template <class V>
inline V larger_or_first(V a, V b) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, Vector<float>>) return _mm512_max_ps(b, a);
  if constexpr (std::is_same_v<V, Vector<double>>) return _mm512_max_pd(b, a);
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<V, Vector<float>>) return _mm256_max_ps(b, a);
  if constexpr (std::is_same_v<V, Vector<double>>) return _mm256_max_pd(b, a);
#endif
  return b > a ? b : a;
}
template <class V>
inline V smaller_or_first(V a, V b) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, Vector<float>>) return _mm512_min_ps(b, a);
  if constexpr (std::is_same_v<V, Vector<double>>) return _mm512_min_pd(b, a);
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<V, Vector<float>>) return _mm256_min_ps(b, a);
  if constexpr (std::is_same_v<V, Vector<double>>) return _mm256_min_pd(b, a);
#endif
  return b < a ? b : a;
}

// NaN wins: b is taken if it is larger or NaN, and a NaN in a is never "smaller". What waits for a
// is short.
template <class T>
struct Largest {
  using Value = T;
  static constexpr T kIdentity = Limits<T>::kLowest;
  template <class V>
  static V apply(V a, V b) {
    return b != b ? b : larger_or_first(a, b);
  }
};

template <class T>
struct Smallest {
  using Value = T;
  static constexpr T kIdentity = Limits<T>::kHighest;
  template <class V>
  static V apply(V a, V b) {
    return b != b ? b : smaller_or_first(a, b);
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

// Each lane as an element of To. GCC sends the halves of floats and doubles through memory.
template <class To, class From>
inline To convert_lanes(From v) {
#if defined(__AVX__) && !defined(__clang__)
  constexpr bool kWidens = std::is_same_v<std::decay_t<decltype(v[0])>, float> &&
                           std::is_same_v<std::decay_t<decltype(To{}[0])>, double>;
  constexpr bool kNarrows = std::is_same_v<std::decay_t<decltype(v[0])>, double> &&
                            std::is_same_v<std::decay_t<decltype(To{}[0])>, float>;
#if defined(__AVX512F__)
  if constexpr (kWidens && sizeof(To) == 64) return reinterpret_cast<To>(_mm512_cvtps_pd(v));
  if constexpr (kNarrows && sizeof(From) == 64) return reinterpret_cast<To>(_mm512_cvtpd_ps(v));
#endif
  if constexpr (kWidens && sizeof(To) == 32) return reinterpret_cast<To>(_mm256_cvtps_pd(v));
  if constexpr (kNarrows && sizeof(From) == 32) return reinterpret_cast<To>(_mm256_cvtpd_ps(v));
#endif
  return __builtin_convertvector(v, To);
}

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
    return convert_lanes<Vector<T>>(v);
  }
}

// What is left in the lanes of one vector of n elements, which elements(i, count) gives from i on
// as a vector, `count` of them or all. 128 bytes of lanes hide the latency of the operation; they
// are combined by halving. A sum begins with 0, not with its first element, which may be -0.
template <class Op, class Elements, class T = typename Op::Value>
inline Vector<T> reduce_to_vector(int64_t n, const Elements& elements) {
  constexpr int kLanes = 128 / sizeof(T);
  constexpr int kWidth = kVectorBytes / sizeof(T);
  constexpr int kVectors = kLanes / kWidth;
  const Vector<T> nothing = Vector<T>{} + Op::kIdentity;
  if (n <= kWidth) return Op::apply(nothing, keep_first<T>(elements(0, n), n, Op::kIdentity));
  Vector<T> lanes[kVectors];
  DT_UNROLL_LANES
  for (int k = 0; k < kVectors; ++k) lanes[k] = nothing;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    DT_UNROLL_LANES
    for (int k = 0; k < kVectors; ++k)
      lanes[k] = Op::apply(lanes[k], elements(i + k * kWidth, kWidth));
  }
  DT_UNROLL_LANES
  for (int k = 0; k < kVectors; ++k, i += kWidth) {
    if (i >= n) break;
    const int64_t rest = min<int64_t>(kWidth, n - i);
    const Vector<T> last = elements(i, rest);
    lanes[k] =
        Op::apply(lanes[k], rest == kWidth ? last : keep_first<T>(last, rest, Op::kIdentity));
  }
  DT_UNROLL_LANES
  for (int half = kVectors / 2; half > 0; half /= 2) {
    DT_UNROLL_LANES
    for (int k = 0; k < half; ++k) lanes[k] = Op::apply(lanes[k], lanes[k + half]);
  }
  return lanes[0];
}

// The same of transform(x[i]). `transform` takes scalars and vectors alike.
template <class Op, class From, class Transform = Unchanged, class T = typename Op::Value>
inline Vector<T> reduce_span_to_vector(const From* x, int64_t n,
                                       const Transform& transform = Transform()) {
  return reduce_to_vector<Op>(
      n, [=](int64_t i, int64_t count) { return transform(load_as<T>(x + i, count)); });
}

#if defined(__AVX512F__)
template <class Half, size_t... kLane>
inline auto join(Half a, Half b, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(a, b, kLane...);
}

// The same for sums of many rows, by the same additions: in vectors of half a line, of which those
// that do not begin at a line cross from one to the next half as often.
template <class T>
inline Vector<T> sum_to_vector(const T* x, int64_t n) {
  typedef T Half __attribute__((vector_size(32)));
  constexpr int64_t kWidth = kVectorBytes / sizeof(T), kLanes = 2 * kWidth;
  Half halves[4] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    DT_UNROLL
    for (int64_t k = 0; k < 4; ++k) {
      Half next;
      __builtin_memcpy(&next, x + i + k * kWidth / 2, sizeof(next));
      halves[k] += next;
    }
  }
  Vector<T> lanes[2] = {join(halves[0], halves[1], std::make_index_sequence<kWidth>()),
                        join(halves[2], halves[3], std::make_index_sequence<kWidth>())};
  if (i < n) lanes[0] += load_first(x + i, min(kWidth, n - i));
  if (i + kWidth < n) lanes[1] += load_first(x + i + kWidth, n - i - kWidth);
  return lanes[0] + lanes[1];
}
#else
template <class T>
inline Vector<T> sum_to_vector(const T* x, int64_t n) {
  return reduce_span_to_vector<Sum<T>>(x, n);
}
#endif

// Reduces transform(x[i]) over n contiguous elements. The order of operations depends on n alone,
// not on the width of the vectors.
template <class Op, class From, class Transform = Unchanged, class T = typename Op::Value>
inline T reduce_span(const From* x, int64_t n, const Transform& transform = Transform()) {
  if (n <= 4) {
    T result = n > 0 ? transform(static_cast<T>(x[0])) : Op::kIdentity;
    for (int64_t i = 1; i < n; ++i) result = Op::apply(result, transform(static_cast<T>(x[i])));
    return result;
  }
  return reduce_lanes<Op, T>(reduce_span_to_vector<Op>(x, n, transform));
}

// ---- many vectors at once

// Where lane `lane` of a vector of lower (or upper) halves comes from: groups of 2 * distance lanes
// are made of a group's half of the first vector and one of the second.
template <class T>
constexpr int64_t half_lane(int64_t lane, int64_t distance, bool upper) {
  const int64_t group = lane / (2 * distance) * (2 * distance);
  const bool second = lane / distance % 2 != 0;
  return group + lane % distance + (upper ? distance : 0) +
         (second ? kVectorBytes / static_cast<int64_t>(sizeof(T)) : 0);
}

template <int kDistance, bool kUpper, class T, size_t... kLane>
inline Vector<T> join_halves(Vector<T> a, Vector<T> b, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(a, b, half_lane<T>(kLane, kDistance, kUpper)...);
}

// reduce_lanes of as many vectors as each has lanes: lane i of the result is that of v[i]. Each
// step halves the number of vectors, so it costs one vector little more than one operation.
template <class Op, int kCount, class T = typename Op::Value>
inline Vector<T> reduce_each(const Vector<T> (&v)[kCount]) {
  constexpr int kHalf = kCount / 2;
  constexpr std::make_index_sequence<kVectorBytes / sizeof(T)> kLanes;
  Vector<T> joined[kHalf];
  DT_UNROLL
  for (int i = 0; i < kHalf; ++i) {
    joined[i] = Op::apply(join_halves<kHalf, false, T>(v[i], v[i + kHalf], kLanes),
                          join_halves<kHalf, true, T>(v[i], v[i + kHalf], kLanes));
  }
  if constexpr (kHalf == 1) {
    return joined[0];
  } else {
    return reduce_each<Op>(joined);
  }
}

// into[k] = what row(k), the vector that is left of row k, comes to; no more rows than a vector has
// lanes.
template <class Op, class Row, class T = typename Op::Value>
inline void reduce_group(T* into, int64_t rows, const Row& row) {
  constexpr int64_t kWidth = kVectorBytes / sizeof(T);
  Vector<T> left[kWidth];
  for (int64_t k = 0; k < rows; ++k) left[k] = row(k);
  if (rows == kWidth) return store(into, reduce_each<Op>(left));
  for (int64_t k = 0; k < rows; ++k) into[k] = reduce_lanes<Op, T>(left[k]);
}

// into[r] = what n contiguous elements of row r come to. asks_ahead: the beginnings of later rows
// are asked for, which helps where they are in memory; in a cache it disturbs what the processor
// foresees.
template <class Op, class From, class Transform = Unchanged, class T = typename Op::Value>
inline void reduce_spans(T* into, const From* x, int64_t row_stride, int64_t rows, int64_t n,
                         bool asks_ahead, const Transform& transform = Transform()) {
  constexpr int64_t kWidth = kVectorBytes / sizeof(T);
  for (int64_t r = 0; r < rows; r += kWidth) {
    reduce_group<Op>(into + r, min(kWidth, rows - r), [=](int64_t k) {
      if (asks_ahead) __builtin_prefetch(x + (r + k + 2 * kWidth) * row_stride);
      const From* const row = x + (r + k) * row_stride;
      if constexpr (kIsFloating<T> && std::is_same_v<Op, Sum<T>> && std::is_same_v<From, T> &&
                    std::is_same_v<Transform, Unchanged>) {
        return sum_to_vector(row, n);
      } else {
        return reduce_span_to_vector<Op>(row, n, transform);
      }
    });
  }
}

// The sums of rows that may be longer than a piece, of which the lanes are combined: what is done
// at the end of a row is done once.
template <class T>
__attribute__((noinline)) void sum_pieces(T* into, const T* x, int64_t row_stride, int64_t rows,
                                          int64_t n, int64_t piece) {
  constexpr int64_t kWidth = kVectorBytes / sizeof(T);
  for (int64_t r = 0; r < rows; r += kWidth) {
    reduce_group<Sum<T>>(into + r, min(kWidth, rows - r), [=](int64_t k) {
      const T* const row = x + (r + k) * row_stride;
      Vector<T> sum = {};
      for (int64_t i = 0; i < n; i += piece) sum += sum_to_vector(row + i, min(piece, n - i));
      return sum;
    });
  }
}

// into[j] = apply(into[j], element j of each of `count` rows from row r on), a number or a
// constant, of n elements in whole vectors. What is added up stays in a register for as long.
template <class Op, class Count, class Elements, class T = typename Op::Value>
inline void reduce_some_rows(T* into, int64_t r, Count count, int64_t n, const Elements& elements) {
  constexpr int64_t kWidth = kVectorBytes / sizeof(T);
  for (int64_t j = 0; j < n; j += kWidth) {
    Vector<T> sum = load(into + j);
    const auto add = [&](int64_t k) { sum = Op::apply(sum, elements(r + k, j, kWidth)); };
    if constexpr (std::is_integral_v<Count>) {
      for (int64_t k = 0; k < count; ++k) add(k);
    } else {
      DT_UNROLL_LANES
      for (int64_t k = 0; k < Count::value; ++k) add(k);
    }
    store(into + j, sum);
  }
}

// The same of the vectors of a row that are all in registers, row after row.
template <class Op, int64_t kVectors, class Elements, class T = typename Op::Value>
inline void reduce_rows_in_registers(T* into, int64_t rows, const Elements& elements) {
  constexpr int64_t kWidth = kVectorBytes / sizeof(T);
  Vector<T> sums[kVectors];
  DT_UNROLL
  for (int64_t k = 0; k < kVectors; ++k) sums[k] = load(into + k * kWidth);
  for (int64_t r = 0; r < rows; ++r) {
    DT_UNROLL
    for (int64_t k = 0; k < kVectors; ++k)
      sums[k] = Op::apply(sums[k], elements(r, k * kWidth, kWidth));
  }
  DT_UNROLL
  for (int64_t k = 0; k < kVectors; ++k) store(into + k * kWidth, sums[k]);
}

constexpr int64_t kPageBytes = 4096;

// The same for all of `rows` rows, whose elements(r, j, count) gives from j on as a vector, `count`
// of them or all. Memory is read at four places, but one after the other where several rows lie in
// a page that is far away: processors expect one place in a page. What is left of whole vectors
// stays in a register for all rows: a part that was just written is long in coming back.
template <class Op, class Elements, class T = typename Op::Value>
inline void reduce_rows(T* into, int64_t row_bytes, int64_t rows, int64_t n, bool is_far,
                        const Elements& elements) {
  constexpr int64_t kWidth = kVectorBytes / sizeof(T);
  constexpr std::integral_constant<int64_t, 1> kOne;
  constexpr std::integral_constant<int64_t, 4> kFour;
  const int64_t whole = n / kWidth * kWidth;
  int64_t r = 0;
#if defined(__AVX512F__)
  if constexpr (kIsFloating<T>) {
    constexpr int64_t kVectors = 16;  // half of all registers
    if (whole == kVectors * kWidth) {
      reduce_rows_in_registers<Op, kVectors>(into, rows, elements);
      r = rows;
    }
  }
#endif
  if (is_far && row_bytes < kPageBytes) {
    for (; r < rows; ++r) reduce_some_rows<Op>(into, r, kOne, whole, elements);
  }
  for (; r + kFour <= rows; r += kFour) reduce_some_rows<Op>(into, r, kFour, whole, elements);
  if (r < rows) reduce_some_rows<Op>(into, r, rows - r, whole, elements);
  if (whole == n) return;
  Vector<T> sum = load_first(into + whole, n - whole);
  for (r = 0; r < rows; ++r) sum = Op::apply(sum, elements(r, whole, n - whole));
  store_few(into + whole, sum, n - whole);
}

// The same of rows in memory.
template <class Op, class T = typename Op::Value>
inline void reduce_rows(T* into, const T* x, int64_t row_stride, int64_t rows, int64_t n,
                        bool is_far = false) {
  reduce_rows<Op>(into, row_stride * int64_t{sizeof(T)}, rows, n, is_far,
                  [=](int64_t r, int64_t j, int64_t count) {
                    return load_as<T>(x + r * row_stride + j, count);
                  });
}

}  // namespace
}  // namespace dt::cpu
