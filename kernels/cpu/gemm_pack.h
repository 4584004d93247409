// Copies of an operand's rows or columns side by side, as tile kernels read them.
#pragma once

#include "kernels/cpu/simd.h"

namespace dt::cpu {
namespace {

// One line of a panel: `count` elements, then zeros up to `width`. Whole vectors are written as far
// as there is room: what they write behind the line is mended by the next one.
template <class T>
inline void pack_line(T* to, const T* from, int64_t count, int64_t width, int64_t room) {
  constexpr int64_t kHalf = kLanes<T> / 2;
  int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) store(to + i, load(from + i));
  if (count == width && count - i >= kHalf) {  // two halves that overlap
    __builtin_memcpy(to + i, from + i, kHalf * sizeof(T));
    __builtin_memcpy(to + count - kHalf, from + count - kHalf, kHalf * sizeof(T));
    return;
  }
  for (; i < width; i += kLanes<T>) {
    const Vector<T> v = load_first(from + i, max<int64_t>(0, count - i));
    if (i + kLanes<T> <= room) {
      store(to + i, v);
    } else {
      store_few(to + i, v, width - i);
    }
  }
}

// dst[k * width + i] = src[i * i_stride + k * k_stride], zero for i in [i_count, width).
template <class T>
__attribute__((noinline)) void pack_panel(T* dst, int64_t width, const T* src, int64_t i_stride,
                                          int64_t i_count, int64_t k_stride, int64_t k_count) {
  if (i_stride == 1 && width == kLanes<T> && i_count < width) {
    for (int64_t k = 0; k < k_count; ++k)
      store(dst + k * width, load_first(src + k * k_stride, i_count));
    return;
  }
  if (i_stride == 1) {
    for (int64_t k = 0; k < k_count; ++k)
      pack_line(dst + k * width, src + k * k_stride, i_count, width, (k_count - k) * width);
    return;
  }
  if (k_stride == 1) {
    copy_transposed(dst, width, src, i_stride, i_count, k_count);
  } else {
    for (int64_t k = 0; k < k_count; ++k) {
      for (int64_t i = 0; i < i_count; ++i) dst[k * width + i] = src[i * i_stride + k * k_stride];
    }
  }
  if (i_count == width) return;
  for (int64_t k = 0; k < k_count; ++k) {
    for (int64_t i = i_count; i < width; ++i) dst[k * width + i] = 0;
  }
}

}  // namespace
}  // namespace dt::cpu
