#include "core/ops/pool/checks.h"

#include "core/ops/checks.h"

namespace dt {

void check_pool_rank(const Tensor& input) {
  DT_CHECK(input.ndim() == 3 || input.ndim() == 4, kRuntimeError,
           "non-empty 3D or 4D (batch mode) tensor expected for input");
}

void check_pool_divisor(std::optional<int64_t> divisor) {
  DT_CHECK(!divisor || *divisor != 0, kRuntimeError, "divisor must be not zero");
}

void check_pool_window(const Window& w) {
  for (int d = 0; d < 2; ++d) {
    DT_CHECK(w.stride[d] != 0, kRuntimeError, "stride should not be zero");
    DT_CHECK(w.size[d] > 0 && w.stride[d] > 0, kRuntimeError,
             "kernel size and stride should be greater than zero, but got kernel_size=", w.size[d],
             " and stride=", w.stride[d]);
    DT_CHECK(w.dilation[d] > 0, kRuntimeError,
             "dilation should be greater than zero, but got dilationH: ", w.dilation[0],
             " dilationW: ", w.dilation[1]);
    DT_CHECK(w.padding[d] >= 0, kRuntimeError,
             "pad must be non-negative, but got pad: ", w.padding[d]);
    DT_CHECK(w.padding[d] <= w.extent(d) / 2, kRuntimeError,
             "pad should be at most half of effective kernel size, but got pad=", w.padding[d],
             ", kernel_size=", w.size[d], " and dilation=", w.dilation[d]);
  }
  // Of dilated windows too: then each has a tap inside the image.
  DT_CHECK(w.padding[0] <= w.size[0] / 2 && w.padding[1] <= w.size[1] / 2, kRuntimeError,
           "pad should be smaller than or equal to half of kernel size, but got padW = ",
           w.padding[1], ", padH = ", w.padding[0], ", kW = ", w.size[1], ", kH = ", w.size[0]);
}

namespace {

void check_images(const Tensor& x, const Dims& sizes) {
  const Dims& n = x.sizes();
  DT_CHECK(
      n[1] > 0 && n[2] > 0 && n[3] > 0, kRuntimeError,
      "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:",
      n);
  DT_CHECK(sizes[2] > 0 && sizes[3] > 0, kRuntimeError, "Given input size: (", n[1], "x", n[2], "x",
           n[3], "). Calculated output size: (", n[1], "x", sizes[2], "x", sizes[3],
           "). Output size is too small");
}

}  // namespace

void check_max_pool(const Tensor& x, const Dims& sizes) {
  check_images(x, sizes);
  DT_CHECK(!is_bool(x.dtype()), kNotImplemented, "\"max_pool2d\" not implemented for 'Bool'");
}

void check_avg_pool(const Tensor& x, const Dims& sizes) {
  check_images(x, sizes);
  check_floating(x, "avg_pool2d");
}

}  // namespace dt
