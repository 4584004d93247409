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

// Images in planes are computed with what lies between their rows, which is thrown away: how many
// outputs there are in a row or column, and how many of these others. A window of 3 on rows of 8
// without padding has 6 outputs and 2 others; with a padding of 1, which two rows share, 8 and 1.
// Transposed, `size` is that of the result, of which each stride makes a phase. Channels-last, what
// would meet zeros around an image is left out: `needed` is less than there are outputs.
struct Line {
  double outputs, others, needed;
};
inline Line line_of(const Window& w, int d, int64_t size, bool transposed) {
  const int64_t stride = w.stride[d], beside = w.size[d] - 1;
  const int64_t padding = std::min(beside, w.padding[d]);
  const int64_t zeros = transposed ? beside - padding : padding;
  const auto outputs = static_cast<double>(transposed ? (size + stride - 1) / stride : size);
  const auto left_out =
      static_cast<double>(zeros * (zeros + 1)) / static_cast<double>(stride * w.size[d]);
  return {outputs, static_cast<double>(stride > 1 ? beside / stride : beside - zeros),
          std::max(outputs - left_out, outputs / 3)};
}

// Whether y = x with the weight takes less time channels-last, copies included. A multiply-add
// takes 1/70 ns then, 1/75 ns in planes, 1/65 with strides. An element that is copied takes 0.3 ns,
// and 1 ns outside of the second-level cache. Weights are packed either way, but in planes not for
// a few outputs, and transposed with strides each phase packs some of all lines. Narrow dtypes are
// widened on the way, which takes longer channels-last than all that is won.
inline bool is_worth_channels_last(const Tensor& x, const Tensor& weight, const Dims& y,
                                   const ConvGeometry& c, bool transposed) {
  const Window& w = c.window;
  constexpr double kMany = 1 << 19;
  const IntPair one{1, 1};
  const int64_t lanes = (y[1] + 15) / 16 * 16, pixels = y[2] * y[3];
  if (c.groups > 1 || w.dilation != one || w.size == one || w.size[1] > 256 || pixels < 2 ||
      4 * lanes > 5 * y[1] || x.device() != kCpu || info(x.dtype()).compute != x.dtype() ||
      is_channels_last(x) || is_channels_last(weight))
    return false;
  const Line rows = line_of(w, 0, y[2], transposed), cols = line_of(w, 1, y[3], transposed);
  const double needed = rows.needed * cols.needed / 70;
  const double computed = (rows.outputs + rows.others) * (cols.outputs + cols.others);
  const double rate = w.stride == one ? 75 : 65;
  const auto images = static_cast<double>(y[0]), weights = static_cast<double>(weight.numel());
  const bool packs_more = images * computed <= 256 || (transposed && w.stride != one);
  const auto moved = static_cast<double>(x.numel() + y[0] * y[1] * pixels);
  const double copied = (moved > kMany ? 1 : 0.3) * moved + (packs_more ? 0.2 * weights : 0);
  return images * weights * (computed / rate - needed) > copied;
}

inline Tensor as_channels_last(const Tensor& x) {
  return contiguous(x, MemoryFormat::kChannelsLast);
}

}  // namespace dt
