// Convolution with a padding by name.
#include "core/ops/creation.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/nn/window.h"
#include "core/ops/views.gen.h"

namespace dt {

Tensor conv2d_padding(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
                      const std::string& padding, IntList dilation, int64_t groups) {
  check_conv_padding(padding);
  if (padding == "valid" || weight.ndim() != 4)
    return conv2d(input, weight, bias, stride, {0}, dilation, groups);
  const IntPair steps = int_pair("stride", stride), distances = int_pair("dilation", dilation);
  check_same_padding(steps);
  // Of an odd number of zeros, the one more is at the end. Here it is also at the start, so that
  // the output begins with a row that "same" does not have.
  IntPair zeros{}, more{};
  for (int d = 0; d < 2; ++d) {
    const int64_t total = distances[d] * (weight.sizes()[d + 2] - 1);
    more[d] = total % 2;
    zeros[d] = total / 2 + more[d];
  }
  const Tensor whole =
      conv2d(input, weight, bias, stride, IntList(zeros.data(), 2), dilation, groups);
  Tensor y = whole;
  for (int d = 0; d < 2; ++d)
    if (more[d] != 0) y = slice(y, d - 2, 1, y.size(d - 2), 1);
  return y.is_same(whole) ? y : clone(y);
}

}  // namespace dt
