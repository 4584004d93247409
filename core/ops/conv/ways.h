// Which convolutions of a CPU are better a matrix product, or channels-last.
#pragma once

#include "core/ops/conv/images.h"
#include "core/ops/creation.gen.h"
#include "core/ops/views.gen.h"

namespace dt {

// Where a window is as large as the image, a convolution is a product of images and weights, each a
// row. Kernels would compute what lies beside the one output, too.
inline bool is_product(const Tensor& operand, const Dims& image, const ConvGeometry& c) {
  return c.groups == 1 && c.window.padding == IntPair{0, 0} &&
         c.window.size == IntPair{image[2], image[3]} && operand.device() == kCpu;
}

inline Tensor as_rows(const Tensor& x) {
  return reshape(x, {x.size(0), x.size(1) * x.size(2) * x.size(3)});
}

// Images in planes are computed with what lies between their rows, which is thrown away, and
// channels-last ones a little faster besides: a multiply-add takes 1/60 and 1/70 ns. An element
// that is copied takes 1 ns, of the result half as much.
inline bool is_worth_channels_last(const Tensor& x, const Tensor& weight, const Dims& y,
                                   const Dims& outputs, const ConvGeometry& c) {
  const IntPair one{1, 1};
  if (c.groups > 1 || c.window.dilation != one || c.window.size == one || x.device() != kCpu ||
      is_channels_last(x) || is_channels_last(weight))
    return false;
  const int64_t lanes = (y[1] + 15) / 16 * 16, pixels = y[2] * y[3];
  if (pixels < 2 || 4 * lanes > 5 * y[1]) return false;
  double needed = 1, computed = 1;
  for (int d = 0; d < 2; ++d) {
    const int64_t beside = (c.window.size[d] - 1) / c.window.stride[d];
    const int64_t shared = c.window.stride[d] == 1 ? std::min(beside, c.window.padding[d]) : 0;
    needed *= static_cast<double>(outputs[2 + d]);
    computed *= static_cast<double>(outputs[2 + d] + beside - shared);
  }
  const auto each = static_cast<double>(outputs[0] * weight.numel());
  const auto copied = static_cast<double>(x.numel() + weight.numel() + y[0] * y[1] * pixels / 2);
  return each * (computed / 60 - needed / 70) > copied;
}

inline Tensor turned(const Tensor& x, bool turns) {
  return turns ? contiguous(x, MemoryFormat::kChannelsLast) : x;
}

}  // namespace dt
