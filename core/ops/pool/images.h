// Pooling of images, by the kernels; other pooling is made of it.
#pragma once

#include <tuple>

#include "core/ops/conv/window.h"
#include "core/tensor/tensor.h"

namespace dt {

struct Pooling {
  Window window;  // with a stride of 0, of means: the largest of `windows` that cover a dimension
  bool ceil_mode = false;
  bool count_include_pad = true;  // of means, as the next
  int64_t divisor = 0;            // 0: the size of the window
  // Whether the gradient is part of the graph, as PyTorch's is: one step of several leaves it out.
  bool links_gradient = true;
  IntPair windows{0, 0};

  bool covers(int d) const { return window.stride[d] == 0; }
  int64_t output_size(int d, int64_t input) const {
    return covers(d) ? windows[d] : window.output_size(d, input, ceil_mode);
  }
  Dims output_sizes(const Dims& x) const {
    return {x[0], x[1], output_size(0, x[2]), output_size(1, x[3])};
  }
};

// [1,C,H,W] of [C,H,W], which is row-major: one element per channel would also pass for channels
// last.
Tensor batch_of_image(const Tensor& image);

// Of x [N,C,H,W] and windows that fit: the maxima, and where they are in x's planes.
std::tuple<Tensor, Tensor> max_pool_images(const Tensor& x, const Pooling& p);
Tensor avg_pool_images(const Tensor& x, const Pooling& p);

}  // namespace dt
