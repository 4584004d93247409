// The window that convolution and pooling slide over an image.
#pragma once

#include <array>

#include "core/ops/checks.h"

namespace dt {

using IntPair = std::array<int64_t, 2>;  // height, width

// n numbers of the user's, or one that stands for all; in an image two.
Dims window_numbers(const char* name, IntList values, int n);
IntPair int_pair(const char* name, IntList values);

struct Window {
  IntPair size, stride{1, 1}, padding{0, 0}, dilation{1, 1};

  Window(int64_t height, int64_t width) : size{height, width} {}
  // Of the last two of n spatial dimensions; a line's window has one row.
  Window(const Dims& sizes, const Dims& strides, const Dims& paddings, const Dims& dilations)
      : size{1, 1} {
    const int n = sizes.size();
    for (int d = n == 1 ? 1 : 0; d < 2; ++d) {
      size[d] = sizes[n - 2 + d];
      stride[d] = strides[n - 2 + d];
      padding[d] = paddings[n - 2 + d];
      dilation[d] = dilations[n - 2 + d];
    }
  }

  // From the window's first to behind its last element.
  int64_t extent(int d) const { return dilation[d] * (size[d] - 1) + 1; }

  // How many windows fit. With ceil_mode the last one may hang over the end, but it must begin
  // inside the image or its padding on the left.
  int64_t output_size(int d, int64_t input, bool ceil_mode = false) const {
    const int64_t room = input + 2 * padding[d] - extent(d);
    if (room < 0 && !(ceil_mode && room + stride[d] > 0)) return 0;
    const int64_t n = (room + (ceil_mode ? stride[d] - 1 : 0)) / stride[d] + 1;
    return ceil_mode && (n - 1) * stride[d] >= input + padding[d] ? n - 1 : n;
  }
};

// An uninitialised image of x's dtype and device.
inline Tensor empty_image(const Dims& sizes, const Tensor& x, bool channels_last) {
  return make_empty_strided(
      sizes, channels_last ? channels_last_strides(sizes) : contiguous_strides(sizes), x.dtype(),
      x.device());
}

}  // namespace dt
