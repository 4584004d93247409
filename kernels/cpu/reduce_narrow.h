// Extrema of integers of 8 and 16 bits, and truth of bytes, in vectors of their own width.
#pragma once

#include "kernels/cpu/lanes.h"

namespace dt::cpu {
namespace {

// How an operation chooses among narrow integers; without functions where it cannot. Results are as
// narrow.
struct NarrowChoice {
  // to[r] = what n contiguous elements of row r come to.
  void (*spans)(char* to, const char* x, int64_t row_stride, int64_t rows, int64_t n) = nullptr;
  // to[j] = what element j of each row comes to.
  void (*rows)(char* to, const char* x, int64_t row_stride, int64_t rows, int64_t n) = nullptr;
};

template <class Op, class N>
struct NarrowFold {
  // As many elements as a vector has, combined from whole vectors, the last of which may overlap: a
  // choice may see an element twice.
  template <int kBytes>
  static void choose(N* best, const N* x, int64_t n) {
    typedef N V __attribute__((vector_size(kBytes), aligned(1), may_alias));
    constexpr int64_t kWidth = kBytes / sizeof(N);
    V first = *reinterpret_cast<const V*>(x), second = *reinterpret_cast<const V*>(x + n - kWidth);
    for (int64_t i = kWidth; i + kWidth <= n; i += kWidth) {
      first = Op::apply(first, V(*reinterpret_cast<const V*>(x + i)));
      if ((i += kWidth) + kWidth > n) break;
      second = Op::apply(second, V(*reinterpret_cast<const V*>(x + i)));
    }
    const V both = Op::apply(first, second);
    __builtin_memcpy(best, &both, kBytes);
  }

  static N span(const N* x, int64_t n) {
    N many[kVectorBytes / sizeof(N)], few[16 / sizeof(N)];
    if (kVectorBytes > 16 && n * static_cast<int64_t>(sizeof(N)) >= kVectorBytes) {
      choose<kVectorBytes>(many, x, n);
      x = many, n = kVectorBytes / sizeof(N);
    }
    if (n * static_cast<int64_t>(sizeof(N)) >= 16) {
      choose<16>(few, x, n);
      x = few, n = 16 / sizeof(N);
    }
    N best = x[0];
    for (int64_t i = 1; i < n; ++i) best = Op::apply(best, x[i]);
    return best;
  }

  static void spans(char* to, const char* x, int64_t row_stride, int64_t rows, int64_t n) {
    const N* from = reinterpret_cast<const N*>(x);
    for (int64_t r = 0; r < rows; ++r) reinterpret_cast<N*>(to)[r] = span(from + r * row_stride, n);
  }

  template <class V>
  static void columns(N* to, const N* x, int64_t row_stride, int64_t rows) {
    V best;
    __builtin_memcpy(&best, x, sizeof(V));
    for (int64_t r = 1; r < rows; ++r) {
      V next;
      __builtin_memcpy(&next, x + r * row_stride, sizeof(V));
      best = Op::apply(best, next);
    }
    __builtin_memcpy(to, &best, sizeof(V));
  }

  static void rows(char* to, const char* x, int64_t row_stride, int64_t rows, int64_t n) {
    typedef N V __attribute__((vector_size(kVectorBytes)));
    constexpr int64_t kWidth = kVectorBytes / sizeof(N);
    N* best = reinterpret_cast<N*>(to);
    const N* from = reinterpret_cast<const N*>(x);
    for (int64_t j = 0; j < n;) {
      if (n >= kWidth) {
        j = min(j, n - kWidth);
        columns<V>(best + j, from + j, row_stride, rows);
        j += kWidth;
      } else {
        columns<N>(best + j, from + j, row_stride, rows);
        ++j;
      }
    }
  }

  static NarrowChoice choice() { return {spans, rows}; }
};

// That of a dtype's elements; of their truth as bytes, whose extremum is 0 or not.
template <class Op>
NarrowChoice narrow_choice(int32_t dtype, bool truth) {
  NarrowChoice found;
  visit_value(dtype, [&](auto type) {
    using N = typename decltype(type)::type;
    if constexpr (std::is_integral_v<N> && sizeof(N) <= 2) {
      if (!truth) found = NarrowFold<Op, std::conditional_t<kIsBool<N>, uint8_t, N>>::choice();
    }
  });
  if (truth && bytes_of(dtype) == 1) found = NarrowFold<Op, uint8_t>::choice();
  return found;
}

}  // namespace
}  // namespace dt::cpu
