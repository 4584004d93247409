// Copies of an operand's rows or columns side by side, as tile kernels read them.
#pragma once

#include "kernels/cpu/simd.h"

namespace dt::cpu {
namespace {

// dst[k * width + i] = src[i * i_stride + k * k_stride], zero for i in [i_count, width).
template <class T>
void pack_panel(T* dst, int64_t width, const T* src, int64_t i_stride, int64_t i_count,
                int64_t k_stride, int64_t k_count) {
  if (i_stride == 1) {
    for (int64_t k = 0; k < k_count; ++k) {
      T* to = dst + k * width;
      const T* from = src + k * k_stride;
      int64_t i = 0;
      for (; i + kLanes<T> <= i_count; i += kLanes<T>) store(to + i, load(from + i));
      if (i < i_count) store_first(to + i, load_first(from + i, i_count - i), i_count - i);
    }
  } else if (k_stride == 1) {
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
